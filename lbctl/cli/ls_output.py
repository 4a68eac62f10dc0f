"""What ``lbctl ls`` prints: its listing in every format, and a row for every change."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from lbctl.cli.printing import hidden_note
from lbctl.cli.settings import Settings

if TYPE_CHECKING:
    from lbctl.commands.ls_stream import Moment
    from lbctl.discovery.listing import Listing, Rest
    from lbctl.suggestion import Again
    from lbctl.view.caps import Caps
    from lbctl.view.plain_table import Rendered
    from lbctl.view.services import Look

_MOST_SHOWN: Final = 20  # rows of one kind that nobody can call
R = TypeVar("R")


class LsPrinter:
    """Standard output for the result, standard error for what is said about it."""

    def __init__(self, settings: Settings, caps: Caps, again: Again, sort: str) -> None:
        self._settings = settings
        self._caps = caps
        self._again = again
        self._sort = sort
        self._hidden: list[str] = []
        self._left_out: list[str] = []
        self.quiet = settings.quiet

    def result(self, listing: Listing, asked: str | None) -> None:
        """Print the listing in the format asked for: all services, or the instances of the one that was asked for."""
        text = self._text(listing, one=asked is not None)
        if text:
            print(text, flush=True)  # noqa: T201
        from lbctl.view.listing_notes import notes

        endpoints = [str(each) for each in self._settings.endpoints]
        for line in notes(listing, asked=asked, endpoints=endpoints, prefix=self._settings.prefix, again=self._again):
            self._note(line)
        for line in self._left_out:
            self._note(line)
        for line in hidden_note(self._hidden):
            self._note(line)

    def moment(self, moment: Moment) -> None:
        """Print a row for every change."""
        from lbctl.view.change_rows import change_rows

        if moment.notice:
            self._note(f"note: {moment.notice}")
        style = self._caps.out_style
        for row in change_rows(moment.changes, moment.shares, moment.revision, style, moment.kept):
            print(row, flush=True)  # noqa: T201

    def _text(self, listing: Listing, *, one: bool) -> str:
        from lbctl.view import output
        from lbctl.view.document import services_document

        headers = not self._settings.no_headers
        match self._settings.output:
            case "json":
                return output.as_json(services_document(listing))
            case "yaml":
                return output.as_yaml(services_document(listing))
            case "csv":
                return output.listing_csv(listing, headers=headers)
            case "name":
                return output.listing_names(listing, instances=one)
        return self._tables(listing, one=one)

    def _tables(self, listing: Listing, *, one: bool) -> str:
        from lbctl.discovery.listing import kind_of
        from lbctl.view.expectation import expectation_table
        from lbctl.view.services import Look, instances_table, invalid_table, services_table

        wide = self._settings.output == "wide"
        look = Look(
            self._caps.out_style,
            self._caps.out_glyphs,
            None if wide else self._caps.out_width,
            headers=not self._settings.no_headers,
        )
        services, invalid = listing.registry.services, listing.registry.invalid
        tables = []
        if one and services[0].instances:
            tables.append(instances_table(listing, services[0], look, wide=wide, sort=self._sort))
        elif services and not one:
            tables.append(services_table(listing, look, wide=wide))
        if invalid:
            tables.append(invalid_table(self._some(invalid, kind_of, "unusable key"), look))
        if listing.expectation is not None and not listing.expectation.is_met:
            tables.append(expectation_table(listing.expectation, look))
        if listing.rest is not None:
            tables += self._rest_tables(listing.rest, look)
        self._hidden = [title for table in tables for title in table.hidden]
        return "\n\n".join("\n".join(table.lines) for table in tables)

    def _rest_tables(self, rest: Rest, look: Look) -> list[Rendered]:
        from lbctl.view.services import others_table, possible_table

        possible = self._some(rest.possible, lambda service: (service.layout,), "possible service")
        tables = [possible_table(possible, look)] if possible else []
        if not rest.others and not rest.unread:
            return tables
        others = self._some(rest.others, lambda other: (other.why,), "other key")
        return [*tables, others_table(rest._replace(others=tuple(others)), look)]

    def _some(self, rows: Sequence[R], kind: Callable[[R], tuple[str, ...]], noun: str) -> Sequence[R]:
        """The rows that are shown, some of each kind; of the others it is noted how many there are."""
        from lbctl.discovery.listing import MOST_LISTED, first_of_each
        from lbctl.view.listing_notes import not_shown

        wide = self._settings.output == "wide"
        kept, left_out = first_of_each(rows, kind, MOST_LISTED if wide else _MOST_SHOWN)
        if left_out:
            self._left_out.append(not_shown(left_out, noun, wide=wide))
        return kept

    def _note(self, line: str) -> None:
        if not self.quiet:
            print(line, file=sys.stderr, flush=True)  # noqa: T201
