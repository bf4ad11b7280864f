import re

from peckorder.reports import Dot, Dots, Report, Section, Table, render


def page_of(*charts, **parts):
    return render(Report("T", "L", (Section("S", charts=charts, **parts),), "c", ()))


def test_every_dot_has_its_name_and_its_interval():
    dots = (Dot("PRank & co", 0.4, 0.3, 0.5), Dot("other", 0.6), Dot("third", -0.2))
    page = page_of(Dots("Loss", "mean <loss>", dots, "A caption.", ("first", 0.0)))
    for text in ("PRank &amp; co", "other", "mean &lt;loss&gt;", "first", "A caption."):
        assert text in page
    assert "Loss. mean &lt;loss&gt;: PRank &amp; co 0.4; other 0.6; third -0.2." in page
    assert page.count("<svg") == 2  # wide and narrow, no legend
    assert 'class="legend"' not in page
    assert len(set(re.findall(r'id="([^"]+)"', page))) == len(re.findall(r'id="([^"]+)"', page))


def test_long_names_are_cut_where_they_would_not_fit():
    page = page_of(Dots("Loss", "loss", (Dot("x" * 60, 1.0),)))
    assert "x" * 33 + "\N{HORIZONTAL ELLIPSIS}" in page
    assert f">{'x' * 60}<" not in page


def test_commands_are_shown_as_they_are_typed():
    page = page_of(commands=(("To keep it:", "peckorder fit 'a b' --set C=1"),))
    assert '<p class="purpose">To keep it:</p>' in page
    assert "<pre><code>peckorder fit &#39;a b&#39; --set C=1</code></pre>" in page


def test_a_column_with_a_sentence_is_set_as_text_in_all_rows():
    rows = (("a", "a sentence that is longer than thirty letters"), ("b", "short"))
    page = page_of(tables=(Table(("who", "what"), rows),))
    assert '<td class="words">short</td>' in page
    assert '<th scope="row">a</th>' in page


def test_names_stand_at_the_left_and_numbers_at_the_right():
    rows = (("a", "home", "0.1 ± 0.2", "<0.01"), ("b", "", "", "3"))
    page = page_of(tables=(Table(("who", "from", "loss", "seconds"), rows),))
    assert '<td class="name">home</td>' in page
    assert "<td>0.1 ±\N{NO-BREAK SPACE}0.2</td><td>&lt;0.01</td>" in page
