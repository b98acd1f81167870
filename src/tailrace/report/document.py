"""One HTML file that stands alone: nothing in it is fetched from anywhere."""

from __future__ import annotations

from importlib import resources

from tailrace.report.html import Html, html, tag


def document(title: str, body: object) -> str:
    css = Html(resources.files("tailrace.report").joinpath("page.css").read_text("utf-8"))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"{tag('title', title)}\n{tag('style', css)}\n"
        f"</head>\n<body>\n{html(body)}\n</body>\n</html>\n"
    )
