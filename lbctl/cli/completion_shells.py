"""What the four shells hand over, and what they are told: a line of words about the answer, then a line a candidate.

The first line is ``delegate N`` where the shell itself is to complete the command that begins with word N (and
``command`` where that is the word of the cursor), else ``nospace``, ``filenames``, both, or nothing. What follows is
for bash what is to be inserted, with the part cut off that readline keeps, for fish the candidate and what it means,
for the others MORE, SHOWN, CANDIDATE and MEANING, with tabs between.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lbctl.cli.completion_answer import Answer
from lbctl.cli.completion_line import Words
from lbctl.cli.completion_values import Candidate

Told = Callable[[Answer], list[str]]

WORD_BREAKS: Final = " \t\n\"'@><=;|&(:"  # where readline begins a word unless it is told otherwise
_SPECIAL: Final = "@$"  # where a word begins, and that are part of it
_PLAIN: Final = re.compile(r"[A-Za-z0-9_%+,./:=@^-]")
_PLAIN_WORD: Final = re.compile(r"[A-Za-z0-9_%+./:=^-]+")
_ESCAPABLE: Final = '$`"\\\n'  # by a backslash between double quotes


@dataclass(frozen=True, slots=True)
class Split:
    """A line in words; of the last one also how it is spelled, the quote that is open in it, and where it begins."""

    words: tuple[str, ...]
    last: str
    spelled: str
    quote: str


def split(text: str) -> Split:
    """Take a line apart as bash does; where a quote is not closed the last word goes on behind the end."""
    words: list[str] = []
    word, spelled, quote, inside, escaped = "", "", "", False, False
    for letter in text:
        if escaped:
            word += letter if not quote or letter in _ESCAPABLE else f"\\{letter}"
            spelled, escaped = spelled + letter, False
        elif not quote and letter.isspace():
            if inside:
                words.append(word)
            word, spelled, inside = "", "", False
        else:
            spelled, inside = spelled + letter, True
            if letter == "\\" and quote != "'":
                escaped = True
            elif letter == quote or (not quote and letter in "\"'"):
                quote = "" if quote else letter
            else:
                word += letter
    return Split(tuple(words), word, spelled, quote)


def from_bash(arguments: Sequence[str]) -> tuple[Words, Told]:
    """The line before the cursor, the rest of it, and the word breaks of readline."""
    before, after, breaks = arguments
    line, rest = split(before), split(after)
    behind = [*rest.words, *([rest.last] if rest.spelled else [])]
    if behind and after[:1] and not after[0].isspace():
        behind = behind[1:]  # the end of the word that the cursor is in
    kept = _kept(line, breaks)
    words = Words(line.words, line.last, tuple(behind))
    return words, lambda answer: _for_bash(answer, words, kept, line.quote)


def _kept(line: Split, breaks: str) -> str:
    """What readline leaves alone of the last word: all up to its last word break, or to the open quote."""
    spelled, quote, end, escaped = line.spelled, "", 0, False
    for place, letter in enumerate(spelled, 1):
        if escaped:
            escaped = False
        elif letter == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
            end = place if letter == line.quote else end
        elif letter in breaks:
            end = place - (letter in _SPECIAL)
    return split(spelled[:end]).last


def _for_bash(answer: Answer, words: Words, kept: str, quote: str) -> list[str]:
    if answer.delegate is not None:
        return [_about(answer) + (" command" if answer.delegate == len(words.before) else "")]
    found, names = answer.candidates, _are_files(answer)
    ends = [each.text.removeprefix(kept) for each in found]
    if names and not any(end.startswith("@") for end in ends):  # readline would quote that, too
        return [_about(answer), *(end.removesuffix("/") for end in ends)]
    answer = replace(answer, candidates=tuple(each._replace(is_file=False) for each in found))
    return [_about(answer), *(end if quote else _escaped(end) for end in ends)]


def _escaped(text: str) -> str:
    return "".join(letter if _PLAIN.match(letter) or ord(letter) > 127 else f"\\{letter}" for letter in text)


def _words(arguments: Sequence[str]) -> Words:
    """How many words stand before the cursor's, that word up to the cursor, and all words."""
    count, word, *words = arguments
    place = int(count)
    return Words(tuple(words[:place]), word, tuple(words[place + 1 :]))


def from_zsh(arguments: Sequence[str]) -> tuple[Words, Told]:
    """Words without their quotes."""
    return _words(arguments), _in_columns


def from_fish(arguments: Sequence[str]) -> tuple[Words, Told]:
    """Words without their quotes, but for that of the cursor, which may have an open one."""
    words = _words(arguments)
    return Words(words.before, split(words.word).last, words.after), _for_fish


def from_powershell(arguments: Sequence[str]) -> tuple[Words, Told]:
    """The same, a line each, in Base64: other versions lose empty arguments and quotes on the way."""
    return _words(base64.b64decode(arguments[0]).decode().split("\n")), _for_powershell


SHELLS: Final[Mapping[str, Callable[[Sequence[str]], tuple[Words, Told]]]] = {
    "bash": from_bash,
    "zsh": from_zsh,
    "fish": from_fish,
    "powershell": from_powershell,
}


def _about(answer: Answer) -> str:
    if answer.delegate is not None:
        return f"delegate {answer.delegate}"
    words = ["nospace"] if len(answer.candidates) == 1 and answer.candidates[0].more else []
    return " ".join([*words, *(["filenames"] if _are_files(answer) else [])])


def _are_files(answer: Answer) -> bool:
    return any(each.is_file for each in answer.candidates)


def _in_columns(answer: Answer) -> list[str]:
    return [_about(answer), *map(_columns, answer.candidates)]


def _columns(each: Candidate) -> str:
    return "\t".join(("+" if each.more else "-", each.shown or each.text, each.text, each.about))


def _for_fish(answer: Answer) -> list[str]:
    return [_about(answer), *(f"{each.text}\t{each.about}" for each in answer.candidates)]


def _for_powershell(answer: Answer) -> list[str]:
    quoted = [each._replace(text=_quoted(each.text), shown=each.shown or each.text) for each in answer.candidates]
    return [_about(answer), *map(_columns, quoted)]


def _quoted(text: str) -> str:
    """As one word of PowerShell, where ``@``, a comma and others have a meaning of their own."""
    if _PLAIN_WORD.fullmatch(text):
        return text
    return "'" + text.replace("'", "''") + "'"
