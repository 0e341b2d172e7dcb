"""The grader: it runs what students hand in, believes nothing, and records everything.

- ``fork_server``: the only part that shares a machine with student code, inside the sandbox;
- ``sandbox``: starts that server, hands out one question at a time, takes plain values back;
- ``submission``: a notebook of unknown origin, read with care;
- ``marking``: one submission against the key; ``worker``: the same in a process of its own;
- ``journal``: every mark as it is given; ``report``: grades, feedback, summary;
- ``cluster``: workers on other machines; ``batch``: a class, from the canary to the reports;
- ``gradescope`` and ``gradebook``: other people's formats.
"""
