"""An editor's messages in; findings, pages of rules and comments out."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from graphlint.finding import Finding
from graphlint.paths import normal
from graphlint.rulebook import builtin_rulebook
from graphlint.server.comments import suppressing
from graphlint.server.question import Question
from graphlint.server.shown import SOURCE, Units, diagnostics
from graphlint.server.worker import Failure, Worker
from graphlint.version import __version__

PAUSE = 0.03  # seconds: what is typed in one go is looked at once
REST = 1.0  # seconds: whoever types no more may have done something else to the files
_CODE = re.compile(r"\bGL\d{3}\b")
_DECLARED = re.compile(r"```toml\n.*?```\n+", re.DOTALL)  # what a page says to graphlint


class Server(LanguageServer):
    """The server of one editor: what it has shown where, and the worker that it asks."""

    worker: Worker

    def __init__(self) -> None:
        super().__init__("graphlint", __version__)
        self.changed = asyncio.Event()
        self.is_typing = False  # all that has changed since the last look at the disk are open texts
        self.disk = 0  # how often files may have been written to
        self.shown: Mapping[str, list[types.Diagnostic]] = {}
        self.versions: Mapping[str, int | None] = {}  # of the open texts, as far as they were answered
        self.told: str | None = None
        self.following: asyncio.Task[None] | None = None

    def projects(self) -> list[Path]:
        """The folders that are open in the editor."""
        folders = [to_fs_path(uri) for uri in self.workspace.folders] or [self.workspace.root_path]
        return [normal(Path(folder)) for folder in folders if folder]

    def unsaved(self) -> Mapping[Path, bytes]:
        """The open files whose text is not that on the disk."""
        texts = {normal(Path(one.path)): one.source.encode() for one in self.workspace.text_documents.values()}
        return {path: text for path, text in texts.items() if path.suffix == ".py" and text != _on_disk(path)}

    async def follow(self) -> None:
        """Look at the projects after each change, and show what is found, until the editor goes."""
        loop = asyncio.get_running_loop()
        while True:
            await self.news()
            self.changed.clear()
            found: list[Finding] = []
            versions = {uri: one.version for uri, one in self.workspace.text_documents.items()}
            try:
                for project in self.projects():
                    question = Question(project, self.unsaved(), self.disk)
                    found += (await loop.run_in_executor(None, self.worker.ask, question)).findings
            except Failure as failure:
                self.tell(str(failure))
                continue
            if not self.changed.is_set():  # else the lines may be others by now
                self.told = None
                self.show(found, versions)

    async def news(self) -> None:
        """Wait for a change: of a text, or of files, which are looked at again when nobody types any more."""
        try:
            async with asyncio.timeout(REST if self.is_typing else None):
                await self.changed.wait()
            await asyncio.sleep(PAUSE)
        except TimeoutError:
            self.look_at_files()

    def look_at_files(self) -> None:
        """Take the disk for another one than it was."""
        self.disk += 1
        self.is_typing = False
        self.changed.set()

    def show(self, findings: list[Finding], versions: Mapping[str, int | None]) -> None:
        """Show the findings in their documents, and nothing where there were some; each version is answered."""
        now = diagnostics(findings, self.units())
        for uri in self.shown.keys() | now.keys() | versions.keys():
            if (self.shown.get(uri), self.versions.get(uri)) != (now.get(uri), versions.get(uri)):
                answer = types.PublishDiagnosticsParams(uri, now.get(uri, []), versions.get(uri))
                self.text_document_publish_diagnostics(answer)
        self.shown, self.versions = now, versions

    def tell(self, problem: str) -> None:
        """Say why nothing is found, once."""
        if problem != self.told:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"graphlint: {problem}"))
        self.told = problem

    def units(self) -> Units:
        """What tells a range of characters in the units that the editor counts in, and reads each file once."""

        @cache
        def lines(uri: str) -> Sequence[str]:
            return self.workspace.get_text_document(uri).lines

        def counted(uri: str, span: types.Range) -> types.Range:
            try:
                return self.workspace.position_codec.range_to_client_units(lines(uri), span)
            except OSError:  # the file is gone by now
                return span

        return counted


def _on_disk(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


server = Server()


def serve(worker: Worker) -> None:
    """Serve the editor at the standard streams until it goes."""
    server.worker = worker
    server.start_io()


@server.feature(types.INITIALIZED)
def start(ls: Server, _params: types.InitializedParams) -> None:
    ls.following = asyncio.get_running_loop().create_task(ls.follow())
    ls.changed.set()


@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
def type_on(ls: Server, _params: types.DidChangeTextDocumentParams) -> None:
    ls.is_typing = True
    ls.changed.set()


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
@server.feature(types.TEXT_DOCUMENT_DID_SAVE)
@server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
@server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
@server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
def look_again(ls: Server, _params: object) -> None:
    ls.look_at_files()


@server.feature(types.SHUTDOWN)
def stop(ls: Server, _params: None) -> None:
    if ls.following is not None:
        ls.following.cancel()
    ls.worker.stop()


@server.feature(types.TEXT_DOCUMENT_HOVER)
def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    """The page of a rule, where it is reported or named."""
    at = params.position
    for one in ls.shown.get(params.text_document.uri, ()):
        if _is_inside(at, one.range):
            return _page(str(one.code), one.range)
    document = ls.workspace.get_text_document(params.text_document.uri)
    line = document.lines[at.line] if at.line < len(document.lines) else ""
    named = (found for found in _CODE.finditer(line) if found.start() <= at.character <= found.end())
    return next((page for found in named if (page := _page(found[0], None))), None)


def _page(code: str, span: types.Range | None) -> types.Hover | None:
    rule = next((rule for rule in builtin_rulebook().rules if rule.code == code), None)
    if rule is None:
        return None
    text = _DECLARED.sub("", rule.text, count=1)
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), span)


def _is_inside(at: types.Position, span: types.Range) -> bool:
    return span.start <= at <= span.end


@server.feature(
    types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
)
def actions(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    """The comments that suppress what is shown here."""
    uri = params.text_document.uri
    document = ls.workspace.get_text_document(uri)
    found = []
    for one in params.context.diagnostics:
        insertion = suppressing(document.source, one.range.start.line + 1, str(one.code))
        if one.source != SOURCE or insertion is None:
            continue
        place = types.Position(insertion.line, insertion.column)
        span = ls.units()(uri, types.Range(place, place))
        edit = types.WorkspaceEdit(changes={uri: [types.TextEdit(span, insertion.text)]})
        title = f"Suppress {one.code} here"
        found.append(types.CodeAction(title, kind=types.CodeActionKind.QuickFix, diagnostics=[one], edit=edit))
    return found
