"""Looking at pages finds what is wrong with them; needs a Chromium, as `python -m manual look` does."""

import pytest

from manual import look
from manual.browser import browser, find_browser

PAGE = '<!doctype html><link rel="icon" href="data:,"><div class="md-content">{}</div>'
FAULTS = {
    "wide": ("<p style='width:900px'>far too wide</p>", "390 px: is"),
    "picture": ("<img src='lost.png'>", "broken picture"),
    "sound": ("<audio src='lost.flac'></audio>", "no sound"),
    "formula": (r"<math><mtext>\argmin</mtext></math>", "formula not understood"),
    "source": ("<pre class='mermaid'>flowchart LR</pre>", "diagram as source"),
    "script": ("<script>throw new Error('lost')</script>", "script error"),
    "network": ("<script src='http://127.0.0.2:9/mermaid.js'></script>", "asks the network"),
}


@pytest.mark.skipif(find_browser() is None, reason="no Chromium here")
def test_faults_of_pages_are_found(tmp_path):
    (tmp_path / "good.html").write_text(PAGE.format("<p>Fine.</p><math><mi>x</mi></math>"))
    for name, (content, _) in FAULTS.items():
        (tmp_path / f"{name}.html").write_text(PAGE.format(content))
    with look.served(tmp_path) as address, browser(find_browser()) as page:
        assert look.look_at(page, address, "good", None) == ([], [1, 0, 0, 0])
        for name, (_, said) in FAULTS.items():
            wrong, _ = look.look_at(page, address, name, None)
            assert any(said in what for what in wrong), (name, wrong)


def test_without_a_browser_looking_is_skipped(monkeypatch, capsys):
    monkeypatch.setattr(look, "find_browser", lambda: None)
    assert look.main([]) == 0 and "skipped, no Chromium" in capsys.readouterr().out
