"""Many devices for one model: what each holds, computes and sends; collectives, counted.

>>> import numpy as np
>>> machine = Machine(4)
>>> machine.run(ALGORITHMS["ring all-reduce"].program, [np.arange(8)] * 4)[0]
array([ 0,  4,  8, 12, 16, 20, 24, 28])
>>> machine.busiest == all_reduce(8, 4)
True
"""

from costlib.parallel import hiding as hiding
from costlib.parallel.cluster import *
from costlib.parallel.collectives import *
from costlib.parallel.machine import *
from costlib.parallel.model_parallel import *
from costlib.parallel.network import *
from costlib.parallel.pipeline import *
from costlib.parallel.plan import *
from costlib.parallel.price import *
from costlib.parallel.search import *
from costlib.parallel.sharding import *
from costlib.parallel.stages import *
from costlib.units.display import show as _show
from costlib.units.messages import all_reduce as all_reduce

_show(__name__, "hiding")
