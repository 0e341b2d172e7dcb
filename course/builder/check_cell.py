"""What a student's notebook carries to check an answer at once, without knowing the answer.

Of an answer that may be tried for ever it knows the form alone. Of others it holds salted, slow
hashes of what is right and of what is often wrong; the words that belong to a wrong answer are
locked with that answer. This file is copied into each notebook, so it needs
nothing but Python's own library.
"""

import hashlib
import inspect
import json
import math

CHECKS = {}  # function -> salt, rounds, width, arguments, right, wrong


def _plain(answer):
    answer = getattr(answer, "tolist", lambda: answer)()  # NumPy's numbers and arrays
    if isinstance(answer, dict):
        return {key: _plain(value) for key, value in answer.items()}
    return [_plain(value) for value in answer] if isinstance(answer, (list, tuple)) else answer


def _canonical(answer, width, shift=0):
    if isinstance(answer, dict):
        return {str(key): _canonical(answer[key], width, shift) for key in answer}
    if isinstance(answer, (list, tuple)):
        return [_canonical(value, width, shift) for value in answer]
    if isinstance(answer, (bool, str)) or answer is None:
        return answer
    if width == 0 or answer == 0:  # whole numbers are compared to the last digit
        return str(int(answer)) if answer == int(answer) else repr(float(answer))
    return [answer > 0, round(math.log(abs(answer)) / width) + shift]


def _stretch(answer, spec, shift, length):
    text = json.dumps(_canonical(answer, spec["width"], shift), sort_keys=True)
    salt = bytes.fromhex(spec["salt"])
    slow = hashlib.pbkdf2_hmac("sha256", text.encode(), salt, spec["rounds"])
    return hashlib.shake_256(slow).digest(8 + length)  # as long as the words that it locks


def verdict(name, answer):
    """True if right; otherwise a sentence."""
    spec = CHECKS[name]
    answer = _plain(answer)
    try:
        longest = max([len(text) // 2 for text in spec["wrong"].values()], default=0)
        for shift in (0, -1, 1, -2, 2) if spec["width"] else (0,):
            key = _stretch(answer, spec, shift, longest)
            if key[:8].hex() == spec["right"]:
                return True
            if key[:8].hex() in spec["wrong"]:
                text = bytes.fromhex(spec["wrong"][key[:8].hex()])
                return bytes(a ^ b for a, b in zip(text, key[8:])).decode()  # noqa: B905
    except (TypeError, ValueError, OverflowError):
        return f"An answer of type {type(answer).__name__} was not expected here."
    return "Not yet."


def misfit(answer, form):
    """Why an answer cannot be what was asked for, whatever is right; empty if it can."""
    answer = _plain(answer)
    if isinstance(form, dict):
        if not isinstance(answer, dict) or set(map(str, answer)) != set(form):
            return f"A dictionary with {', '.join(form)} was asked for."
        found = [misfit(value, form[str(key)]) for key, value in answer.items()]
    elif isinstance(form, list):
        if not isinstance(answer, (list, tuple)):
            return "A list was asked for."
        found = [misfit(value, form[0]) for value in answer] if form else []
    else:
        number = isinstance(answer, (int, float)) and not isinstance(answer, bool)
        fits = {
            "a whole number": number and answer == answer // 1,
            "a number": number and abs(answer) < math.inf,
            "a text": isinstance(answer, str),
            "True or False": isinstance(answer, bool),
        }
        return "" if fits.get(form, True) else f"{form[:1].upper()}{form[1:]} was asked for."
    return next((text for text in found if text), "")


def check(function, holds=None):
    """Call your function with the numbers of the statement and say what comes out."""
    name = function.__name__
    spec = CHECKS[name]
    try:
        inspect.signature(function).bind(**spec["arguments"])
    except TypeError as problem:
        asked = f"{name}({', '.join(spec['arguments'])})"
        print(f"{name}: {problem}. The statement asks for {asked}.")
        return
    try:
        answer = _plain(function(**spec["arguments"]))
    except NotImplementedError:
        print(f"{name}: not answered yet.")
        return
    if answer is None:
        print(f"{name}: it returned nothing. An answer is returned, not printed.")
        return
    if holds is None and "right" not in spec:
        said = misfit(answer, spec["form"]) or "Noted; the grader looks at it."
        print(f"{name}: {answer!r}. {said}")
        return
    found = holds(answer, **spec["numbers"]) if holds else verdict(name, answer)
    text = repr(answer) if len(repr(answer)) < 300 else f"{repr(answer)[:60]} and so on"
    print(f"{name}: right." if found is True else f"{name}: {text}. {found or 'Not yet.'}")
