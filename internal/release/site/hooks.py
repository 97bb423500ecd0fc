"""Adapts the pages in docs, which are written for GitHub and for the tests that type them, to MkDocs."""

import posixpath
import re

REPOSITORY = "https://github.com/parley-a2a/parley/blob/main/"


def on_page_markdown(markdown, page, **_):
    if page.file.src_uri.startswith("adr/"):
        page.meta["search"] = {"exclude": True}  # records are for contributors
    folder = posixpath.join("docs", posixpath.dirname(page.file.src_uri))

    def address(link):
        target = posixpath.normpath(posixpath.join(folder, link[1]))
        return link[0] if target.startswith("docs/") else f"]({REPOSITORY}{target}"

    # "sh background" and "sh elsewhere" are for the tests. Another second word is the name of a file.
    markdown = re.sub(r"^```sh (?:background|elsewhere)$", "```sh", markdown, flags=re.M)
    markdown = re.sub(r"^```(\w+) (\S+)$", r'```\1 title="\2"', markdown, flags=re.M)
    # TestLinksResolve checks that a file outside of docs exists.
    return re.sub(r"\]\((\.\./[^)#\s]*)", address, markdown)
