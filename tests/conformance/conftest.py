"""A pytest-lsp client for each editor, on a folder with two copies of a function. Whatever goes over the wire is kept;
at the end of each test it is held against what the client offers."""

import asyncio
import json
import os
import pathlib
import time
import typing

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import LanguageClient, client_capabilities
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, register_lsp_features
from pytest_lsp.protocol import LanguageClientProtocol

from offers import not_offered, unanswered

PATIENCE = 300  # Seconds: a machine that is busy is slow; what takes longer never comes.
FUNCTION = """func {name}(a []int, b int) int {{
\tsum := 0
\tfor i, x := range a {{
\t\tif x > b {{
\t\t\tsum += x * i
\t\t\tcontinue
\t\t}}
\t\tif x < 0 {{
\t\t\tsum -= x
\t\t}}
\t\tsum += b + i*2
\t}}
\treturn sum
}}
"""


def source(name):
    return "package p\n\n" + FUNCTION.format(name=f"of_{name}")


class Recording(LanguageClientProtocol):
    """Keeps all messages as they are on the wire."""

    def structure_message(self, data):
        if "jsonrpc" in data:
            self._server.exchange.append((True, json.loads(json.dumps(data))))
        return super().structure_message(data)

    def _send_data(self, data):
        super()._send_data(data)
        self._server.exchange.append((False, json.loads(json.dumps(data, default=self._serialize_message))))


def converter():
    """lsprotocol takes an action that has a command for a bare command; these two are told apart by what it is."""
    converter = default_converter()
    either = typing.Union[types.Command, types.CodeAction]
    kind = lambda value: types.Command if isinstance(value.get("command"), str) else types.CodeAction
    converter.register_structure_hook(either, lambda value, _: converter.structure(value, kind(value)))
    return converter


class Editor(LanguageClient):
    def __init__(self):
        super().__init__(protocol_cls=Recording, converter_factory=converter)
        self.exchange = []
        # The stock client refuses results that come in parts, and answers no registrations.
        register_lsp_features(self, {name: f for name, f in DEFAULT_CLIENT_FEATURES.items() if name != types.PROGRESS})
        self.feature(types.PROGRESS)(lambda params: None)
        self.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda params: None)
        self.feature(types.WORKSPACE_CODE_LENS_REFRESH)(lambda params: None)
        self.feature("dupi/status")(lambda params: None)

    async def begin(self, capabilities, folders, options=None):
        folders = [types.WorkspaceFolder(uri=folder.as_uri(), name=folder.name) for folder in folders]
        root = folders[0].uri if folders else None
        return await self.initialize_session(
            types.InitializeParams(
                capabilities=capabilities, root_uri=root, workspace_folders=folders, initialization_options=options
            )
        )

    # ---- what was sent

    def received(self, method):
        """The parameters of all messages of the server with that method."""
        messages = (message for from_server, message in self.exchange if from_server)
        return [message.get("params") for message in messages if message.get("method") == method]

    async def until(self, what, condition):
        """Waits until there is something that is true."""
        for _ in range(PATIENCE * 100):
            if found := condition():
                return found
            await asyncio.sleep(0.01)
        raise AssertionError(f"never: {what}")

    async def run(self, command, *arguments):
        return await self.workspace_execute_command_async(
            types.ExecuteCommandParams(command=command, arguments=list(arguments))
        )

    async def idle(self):
        """Waits until the server has looked at all that it was told of: how far it is then."""
        while (status := await self.run("dupi.status"))["state"] != "idle":
            await asyncio.sleep(0.02)
        return status

    # ---- documents

    def open(self, path, text=None, uri=None):
        text = path.read_text() if text is None else text
        item = types.TextDocumentItem(uri=uri or path.as_uri(), language_id="go", version=1, text=text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, path, version, *changes):
        document = types.VersionedTextDocumentIdentifier(version=version, uri=path.as_uri())
        self.text_document_did_change(types.DidChangeTextDocumentParams(document, list(changes)))

    def replace(self, path, version, text):
        self.change(path, version, types.TextDocumentContentChangeWholeDocument(text))

    @property
    def pulls(self):
        return self.answer.capabilities.diagnostic_provider is not None

    async def diagnosed(self, path, condition):
        """The diagnostics of a file as soon as they are as they should be: pushed or pulled, as the editor does it."""
        uri = path if isinstance(path, str) else path.as_uri()
        found, end = None, time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.pulls:
                report = await self.text_document_diagnostic_async(
                    types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
                )
                found = report.items
            else:
                await self.until(f"diagnostics of {uri}", lambda: uri in self.diagnostics)
                found = self.diagnostics[uri]
            if condition(found):
                return found
            await asyncio.sleep(0.02)
        raise AssertionError(f"the diagnostics of {uri} stay {found}")


def offers_of(name):
    """What an editor offers: what pytest-lsp says, and for one that pulls what came later."""
    name, _, extra = name.partition(" ")
    capabilities = types.ClientCapabilities() if name == "nothing" else client_capabilities(name)
    if extra:
        capabilities.text_document.diagnostic = types.DiagnosticClientCapabilities(
            dynamic_registration=True, related_document_support=True
        )
        capabilities.workspace.diagnostics = types.DiagnosticWorkspaceClientCapabilities(refresh_support=True)
    return capabilities


EDITORS = ["visual-studio-code", "visual-studio-code pulling", "neovim", "neovim@v0.6.1", "emacs", "nothing"]


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "work"
    root.mkdir()
    for name in ("a", "b"):
        (root / f"{name}.go").write_text(source(name))
    return root


@pytest.fixture(scope="session")
def large_folder(tmp_path_factory):
    """So many files of a language that is slow to parse, all different, that a first index is not over before it can be
    cancelled."""
    root = tmp_path_factory.mktemp("large")
    words = [f"{a}{b}" for a in ("red", "green", "blue", "warm") for b in ("sun", "moon", "star")]
    signs = ("+", "-", "*", "/", "%", "&", "|", "^")
    for i in range(4000):
        # No two files have the same signs in the same order, so that it takes reading and no comparing.
        sign = lambda j: signs[(i * 2654435761 >> (j % 27)) % 8]
        steps = (f"  x{(i * 7 + j * j) % 97} {sign(j)}= {words[(i + j) % 12]}({i}, {j * i})\n" for j in range(150))
        (root / f"f{i}.rb").write_text(f"def f{i}\n{''.join(steps)}end\n")
    return root


@pytest_asyncio.fixture(params=EDITORS)
async def stranger(request, tmp_path):
    """An editor that has started the server and has not said a word yet."""
    editor = Editor()
    editor.offers = offers_of(request.param)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    log = str(tmp_path / "log")
    await editor.start_io(os.environ["DUPI_LSP"], "--stdio", "--log", log, env=environment)
    yield editor
    async with asyncio.timeout(PATIENCE):
        await editor.shutdown_session()
    assert editor._server.returncode == 0
    await editor.stop()
    capabilities = json.loads(json.dumps(editor.offers, default=editor.protocol._serialize_message))
    assert unanswered(editor.exchange) == []
    assert not_offered(editor.exchange, capabilities) == []
    assert "mistake" not in pathlib.Path(log).read_text()


@pytest_asyncio.fixture
async def editor(stranger, folder):
    """An editor with one folder, of which all files have been looked at."""
    stranger.root = folder
    stranger.answer = await stranger.begin(stranger.offers, [folder])
    async with asyncio.timeout(PATIENCE):
        await stranger.idle()
    return stranger
