"""What the page of the ten questions says: how they were asked, and where costlib is not first."""

TOP = """\
# Ten questions, asked of others

What `make bench-questions` wrote on {date}: {where}, on a shared machine. Asked were costlib and \
{needs}, each in an environment of its own, with a program for each question as its user would \
write it (`asked/with_NAME.py`). No program sees what is right. All are the newest versions that \
PyPI had on 2026-11-28. Vidur 0.0.26, which it has as well, downloads the measurements that it \
predicts from when it runs, so it cannot be asked without a network.

An entry is the median error, without its sign, over a question's rows, which others measured or \
counted and this repository carries. Efficiencies, which llm-analysis and GenZ have as well as \
costlib, are what they are unless told otherwise: those of a datasheet. In the second column \
costlib has `costlib.measured.TYPICAL`, what servers reach on the whole: a few constants, rounded \
to a digit, chosen on all published tables here, those of *price* and *sweep* among them. \
A *statement* is one of Python's, of a program and what it calls here; imports and configs do \
not count. A *call* is for one row (in a sweep, for all), the median of several, \
after one that imports.

Beneath each table stands who is nearest, shortest and fastest of those that answer all of its \
rows. With so few rows, errors are level if none is more than a tenth larger than the least; times \
are, within a fifth. The two rows of costlib count apart: what comes nearest may be the longer \
program."""

_MEASURED = (
    "aiconfigurator looks up times of kernels that were measured on this very device, and answers "
    "where there are such: for 10 devices and three servers. What was not measured it "
    'estimates (it was asked with `database_mode="HYBRID"`, but in *price*, '
    "where it has its own default). costlib knows a datasheet, which "
    "every device has, and what servers reach of one on the whole."
)
_FITTED = (
    "Told two rows of a published table, costlib predicts the others about as well: "
    "see [how well published throughputs are predicted](benchmarks.md)."
)
#: Where costlib is not among the nearest, the shortest or the fastest: why.
WHY_NOT = {
    "decode": _MEASURED,
    "training memory": "llm-analysis adds up closed forms of one kind of layer. costlib makes the "
    "ledger of every stage, whatever its layers are, and so knows the fullest one; that takes "
    "milliseconds.",
    "plan": "llm-analysis divides FLOPs by the peak, without messages or a bubble: a closed form. "
    "costlib makes the ledger of every stage and of what devices send.",
    "quantised": _MEASURED,
    "mixture": "mlsysim looks both numbers up, rounded to three digits, and so has the models of "
    "its registry alone. costlib counts them from a config.",
    "price": _MEASURED + " It also picks the batch by itself. " + _FITTED,
    "sweep": _MEASURED + " " + _FITTED,
}
