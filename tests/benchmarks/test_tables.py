"""Tables grow line by line, under one header."""

from tests.benchmarks.tables import markdown, print_table

ROWS = [{"a": 1, "b": "x"}, {"a": 2.0 / 3.0, "b": "y"}]
LINES = ["| a | b |", "| --- | --- |", "| 1 | x |", "| 0.6667 | y |"]


def test_the_printed_table_has_one_header(capsys):
    print_table(iter(ROWS))
    assert capsys.readouterr().out.splitlines() == [*LINES, ""]


def test_lines_are_printed_as_soon_as_they_are_known(capsys):
    def rows():
        for row in ROWS:
            yield row
            known.append(capsys.readouterr().out)

    known = []
    print_table(rows())
    assert known == ["\n".join(LINES[:3]) + "\n", LINES[3] + "\n"]


def test_cells_may_have_another_form():
    assert markdown(ROWS, lambda value: f"<{value}>").splitlines()[2] == "| <1> | <x> |"
    assert markdown([]) == ""
