"""The grader: it runs what students hand in, believes nothing, and records everything.

In the order in which a submission meets them:

- ``batch``: a class, from the canary to the reports; ``inbox``: whose notebook is where;
- ``submission``: a notebook of unknown origin, read with care;
- ``worker``: one submission in a process of its own; ``cluster``: workers on other machines;
- ``marking``: one submission against the key;
- ``sandbox``: starts a server, hands out one question at a time, takes plain values back;
- ``fork_server``: that server, the only part that shares a machine with student code;
- ``journal``: every mark that a machine gives, as it is given; ``by_hand``: what a person marks;
- ``report``: grades, feedback, summary; ``class_page``, ``board``, ``similar``: the class at once;
- ``gradescope``, ``gradebook``, ``exports``, ``tables``: other people's formats;
- ``folders``: a question's folder on disk.
"""
