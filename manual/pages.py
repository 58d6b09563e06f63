"""What mkdocs does not do by itself: links to code, formulas, diagrams, audio players.

Formulas become MathML and Mermaid becomes SVG while the site is built, so pages need no script and no
network for them: the theme would fetch Mermaid from a server of others in every reader's browser.
Each source file that a page links to gets a page of its own; a link leads to the very line.
"""

from __future__ import annotations

import html
import posixpath
import re
from pathlib import Path

import merm
from latex2mathml.converter import convert
from mkdocs.structure.files import File

from manual.chapters import ROOT
from manual.links import CODE_LINK, code_links, symbols

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
DIAGRAM = re.compile(r'<pre class="mermaid"><code>(.*?)</code></pre>', re.DOTALL)
INK, PAPER = "var(--md-default-fg-color)", "var(--md-code-bg-color)"  # light and dark follow the site
THEME = merm.Theme(
    node_fill=PAPER, node_stroke="var(--md-primary-fg-color)", node_text_color=INK, text_color=INK,
    edge_stroke=INK, edge_label_bg=PAPER, background_color="none", font_family="inherit",
    node_sep=50.0,
)
SOUND = re.compile(r'<a href="([^"]+\.(?:flac|mp3))">(.*?)</a>', re.DOTALL)
SLOW = "*The next block takes a minute or two; `make docs` runs it.*"


def code_page(path: Path) -> str:
    """Where the site shows a source file."""
    return f"code/{path.relative_to(ROOT).as_posix()}.md"


def on_files(files, config):
    """Add a page for each source file that is linked to."""
    pages = [Path(config["docs_dir"]) / file.src_uri for file in files.documentation_pages()]
    linked = {path for page in pages for path, _ in code_links(page)}
    for path in sorted(linked):
        language = {".py": "python", ".yaml": "yaml", ".toml": "toml"}.get(path.suffix, "text")
        source = path.read_text(encoding="utf-8")
        text = (
            "---\nsearch:\n  exclude: true\n---\n"
            f"# {path.relative_to(ROOT)}\n\n"
            f'~~~~~~{language} linenums="1"\n{source}~~~~~~\n'
        )
        files.append(File.generated(config, code_page(path), content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    """Point links to code at the pages made above; say which blocks are slow."""
    if page.file.src_uri.startswith("code/"):
        return markdown
    source = Path(config["docs_dir"]) / page.file.src_uri
    here = posixpath.dirname(page.file.src_uri)

    def lead(link: re.Match) -> str:
        path = (source.parent / link[1]).resolve()
        target = posixpath.relpath(code_page(path), here or ".")
        line = symbols(path).get(link[2]) if link[2] else None
        return f"]({target}#__codelineno-0-{line})" if line else f"]({target})"

    return CODE_LINK.sub(lead, markdown).replace("<!-- slow -->", SLOW)


def on_page_content(content, page, config, files):
    """Formulas as MathML, diagrams as SVG, links to sounds as players."""

    def formula(found: re.Match) -> str:
        display = "block" if found[1] == "div" else "inline"
        written = convert(html.unescape(found[2]), display=display)
        return f'<div class="formula">{written}</div>' if display == "block" else written

    def diagram(found: re.Match) -> str:
        drawn = merm.render_diagram(html.unescape(found[1]), theme=THEME)
        return f'<div class="diagram">{drawn}</div>'

    player = r'\2 <audio controls preload="none" src="\1"></audio>'
    return SOUND.sub(player, FORMULA.sub(formula, DIAGRAM.sub(diagram, content)))
