"""A project in, an editor that has it open and speaks with a server over its standard streams out."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient

PATIENCE = 120.0  # seconds; a server that says nothing hangs


class Editor:
    """What an editor knows: its texts, and what is shown in them."""

    def __init__(self, client: LanguageClient, root: Path) -> None:
        self.client, self.root = client, root
        self.shown: dict[str, list[types.Diagnostic]] = {}
        self.messages: list[str] = []
        self.answers: dict[str, int | None] = {}  # the version of each text that was answered last
        self._news = asyncio.Event()
        self._versions: dict[str, int] = {}

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.shown[params.uri] = list(params.diagnostics)
            self.answers[params.uri] = params.version
            self._news.set()

        @client.feature(types.WINDOW_SHOW_MESSAGE)
        def tell(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)
            self._news.set()

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()

    def codes(self, name: str) -> list[str]:
        """What is shown in a file."""
        return [str(one.code) for one in self.shown.get(self.uri(name), [])]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until what is shown is as it has to be."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def answered(self, name: str) -> None:
        """Wait until what a file holds now is answered."""
        await self.until(lambda: self.answers.get(self.uri(name)) == self._versions.get(name, 0))

    @property
    def pid(self) -> int:
        """The process of the server."""
        return self.client._server.pid  # type: ignore[union-attr]

    def open(self, name: str) -> None:
        text = (self.root / name).read_text("utf-8")
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(self.uri(name), "python", 0, text))
        )

    def type(self, name: str, text: str) -> None:
        """Have a file that is open hold this text, unsaved."""
        version = self._versions[name] = self._versions.get(name, 0) + 1
        document = types.VersionedTextDocumentIdentifier(version, self.uri(name))
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    async def hover(self, name: str, line: int, column: int) -> str:
        """The text that is shown at a place, which counts from 0."""
        document = types.TextDocumentIdentifier(self.uri(name))
        found = await self.client.text_document_hover_async(types.HoverParams(document, types.Position(line, column)))
        assert found is None or isinstance(found.contents, types.MarkupContent)
        return "" if found is None else found.contents.value

    async def actions(self, name: str) -> list[types.CodeAction]:
        """What is offered for all that is shown in a file."""
        document, shown = types.TextDocumentIdentifier(self.uri(name)), self.shown[self.uri(name)]
        found = await self.client.text_document_code_action_async(
            types.CodeActionParams(document, shown[0].range, types.CodeActionContext(shown))
        )
        return [one for one in found or () if isinstance(one, types.CodeAction)]


@asynccontextmanager
async def editing(root: Path) -> AsyncIterator[Editor]:
    """An editor that has a folder open."""
    client = LanguageClient("editor", "1")
    editor = Editor(client, root)
    await client.start_io(sys.executable, "-m", "graphlint", "server")
    folder = types.WorkspaceFolder(root.as_uri(), root.name)
    await client.initialize_async(
        types.InitializeParams(types.ClientCapabilities(), root_uri=root.as_uri(), workspace_folders=[folder])
    )
    client.initialized(types.InitializedParams())
    try:
        yield editor
    finally:
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()


def with_editor(root: Path, story: Callable[[Editor], Awaitable[None]]) -> None:
    """Have a story happen in an editor that has a folder open."""

    async def happen() -> None:
        async with editing(root) as editor:
            await story(editor)

    asyncio.run(happen())
