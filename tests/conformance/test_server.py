"""Every request and notification that the server knows, from each of the editors."""

import asyncio

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from conftest import source
from offers import not_offered, unanswered


def some(found):
    return len(found) > 0


def none(found):
    return len(found) == 0


def document(path):
    return types.TextDocumentIdentifier(path.as_uri())


def position(line, character=0):
    return types.Position(line, character)


# ---- from start to end


async def test_initialize_answers_with_what_the_server_can_and_nothing_of_the_languages_own_servers(editor):
    can = editor.answer.capabilities
    assert editor.answer.server_info.name == "dupi-lsp"
    assert can.text_document_sync.change == types.TextDocumentSyncKind.Incremental
    assert can.hover_provider and can.code_lens_provider and can.code_action_provider
    assert can.workspace.workspace_folders.supported and can.workspace.workspace_folders.change_notifications
    assert set(can.execute_command_provider.commands) >= {
        "dupi.showCopies", "dupi.compare", "dupi.reindex", "dupi.report", "dupi.status"
    }
    assert can.definition_provider is None and can.references_provider is None


async def test_before_initialize_and_after_shutdown_requests_are_refused(stranger, folder):
    hover = types.HoverParams(document(folder / "a.go"), position(2))
    stranger.capabilities = stranger.offers
    with pytest.raises(JsonRpcException) as refused:
        await stranger.text_document_hover_async(hover)
    assert refused.value.code == types.ErrorCodes.ServerNotInitialized
    stranger.answer = await stranger.begin(stranger.offers, [folder])
    await stranger.shutdown_async(None)
    with pytest.raises(JsonRpcException) as refused:
        await stranger.text_document_hover_async(hover)
    assert refused.value.code == types.ErrorCodes.InvalidRequest
    stranger.exit(None)
    await stranger._server.wait()
    # It has ended as it should: nothing is left for the end of the test.
    stranger.capabilities = None


async def test_what_is_unknown_is_refused_and_a_cancelled_request_is_answered_once(editor):
    with pytest.raises(JsonRpcException) as refused:
        await editor.protocol.send_request_async("dupi/nothing", {})
    assert refused.value.code == types.ErrorCodes.MethodNotFound
    with pytest.raises(JsonRpcException) as refused:
        await editor.run("dupi.nothing")
    assert refused.value.code == types.ErrorCodes.InvalidParams
    editor.protocol.notify("$/dupi/nothing", {})
    editor.open(editor.root / "a.go")
    for i in range(50):
        report = editor.protocol.send_request(
            "workspace/executeCommand", types.ExecuteCommandParams("dupi.report"), msg_id=f"report-{i}"
        )
        editor.cancel_request(types.CancelParams(f"report-{i}"))
        try:
            await asyncio.wrap_future(report)
        except JsonRpcException as error:
            assert error.code == types.LSPErrorCodes.RequestCancelled
        except asyncio.CancelledError:
            pass
    editor.text_document_did_close(types.DidCloseTextDocumentParams(document(editor.root / "a.go")))
    lenses = await editor.text_document_code_lens_async(types.CodeLensParams(document(editor.root / "a.go")))
    assert not lenses, "of a document that is closed"
    await editor.until("all answers", lambda: unanswered(editor.exchange) == [])


# ---- documents


async def test_a_document_is_opened_changed_saved_and_closed(editor):
    a, b = editor.root / "a.go", editor.root / "b.go"
    editor.open(a)
    found = (await editor.diagnosed(a, some))[0]
    assert (found.source, found.code, found.range.start.line, found.range.end.line) == ("dupi", "renamed", 2, 15)
    assert found.message == "14 lines duplicated in 1 other place: b.go:3"
    assert found.severity == types.DiagnosticSeverity.Information
    editor.open(b)
    await editor.diagnosed(b, some)
    # Two lines before the copy in one edit, and the copy itself away in the next.
    at = types.Range(position(1), position(1))
    editor.change(b, 2, *[types.TextDocumentContentChangePartial(range=at, text="\n")] * 2)
    await editor.diagnosed(b, lambda found: found and found[0].range.start.line == 4)
    await editor.diagnosed(a, lambda found: found and "b.go:5" in found[0].message)
    everything = types.Range(position(1), position(99))
    editor.change(b, 3, types.TextDocumentContentChangePartial(range=everything, text=""))
    await editor.diagnosed(b, none)
    await editor.diagnosed(a, none)
    b.write_text("package p\n")
    editor.text_document_did_save(types.DidSaveTextDocumentParams(document(b)))
    editor.text_document_did_close(types.DidCloseTextDocumentParams(document(b)))
    await editor.idle()
    await editor.diagnosed(a, none)
    # Closed without saving: the disk counts again.
    editor.open(b, source("b"))
    await editor.diagnosed(a, some)
    editor.text_document_did_close(types.DidCloseTextDocumentParams(document(b)))
    await editor.diagnosed(a, none)


async def test_what_is_not_a_file_is_compared(editor):
    for uri in ("untitled:Untitled-1", "git:/no/such/c.go?HEAD"):
        editor.open(editor.root / "a.go", source("c"), uri=uri)
        found = await editor.diagnosed(uri, some)
        assert "2 other places" in found[0].message
        editor.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
    assert (await editor.idle())["files"] == 2


# ---- diagnostics of all files


async def test_diagnostics_are_pulled_for_one_file_and_for_all_with_ids_and_in_parts(editor):
    # Also answered to an editor that is pushed them: programs ask as it suits them.
    a, b = editor.root / "a.go", editor.root / "b.go"
    report = await editor.text_document_diagnostic_async(types.DocumentDiagnosticParams(document(a)))
    assert report.kind == "full" and len(report.items) == 1
    again = types.DocumentDiagnosticParams(document(a), previous_result_id=report.result_id)
    assert (await editor.text_document_diagnostic_async(again)).kind == "unchanged"

    async def pull(before, **options):
        ids = [types.PreviousResultId(uri, id) for uri, id in before.items()]
        return (await editor.workspace_diagnostic_async(types.WorkspaceDiagnosticParams(ids, **options))).items

    everything = await pull({})
    ids = {item.uri: item.result_id for item in everything}
    assert set(ids) == {a.as_uri(), b.as_uri()}
    assert all(item.kind == "unchanged" for item in await pull(ids))
    editor.open(b, "package p\n")
    assert await pull(ids, partial_result_token="part") == ()
    parts = [part["value"]["items"] for part in editor.received("$/progress") if part["token"] == "part"]
    assert {item["uri"]: item["items"] for part in parts for item in part} == {a.as_uri(): [], b.as_uri(): []}


# ---- lenses, hovers, actions, commands


async def test_lens_and_hover_name_the_copies(editor):
    a, b = editor.root / "a.go", editor.root / "b.go"
    editor.open(a)
    (lens,) = await editor.text_document_code_lens_async(types.CodeLensParams(document(a)))
    assert lens.command.title == "⧉ 1 copy · 14 lines · renamed" and lens.range.start.line == 2
    uri, at, locations = lens.command.arguments
    assert uri == a.as_uri() and [location["uri"] for location in locations] == [a.as_uri(), b.as_uri()]
    assert (await editor.run(lens.command.command, *lens.command.arguments)) == locations
    hover = await editor.text_document_hover_async(types.HoverParams(document(a), position(2, 3)))
    assert "b.go:3" in hover.contents.value and "of_a" in hover.contents.value
    assert await editor.text_document_hover_async(types.HoverParams(document(a), position(7))) is None


def applied(text, edits):
    """A text after edits that insert whole lines."""
    lines = text.splitlines(keepends=True)
    for edit in sorted(edits, key=lambda edit: edit.range.start.line, reverse=True):
        assert edit.range.start == edit.range.end and edit.range.start.character == 0
        lines.insert(edit.range.start.line, edit.new_text)
    return "".join(lines)


def edits_of(edit):
    """The edits of the one document that is edited."""
    if edit.changes is not None:
        ((uri, edits),) = edit.changes.items()
        return uri, edits
    change = edit.document_changes[-1]
    return change.text_document.uri, change.edits


async def test_code_actions_are_offered_and_can_be_run(editor):
    a = editor.root / "a.go"
    editor.open(a)
    (diagnostic,) = await editor.diagnosed(a, some)
    asked = types.CodeActionParams(document(a), diagnostic.range, types.CodeActionContext([diagnostic]))
    actions = await editor.text_document_code_action_async(asked)
    by_title = {action.title: action for action in actions}
    is_literal = isinstance(actions[0], types.CodeAction)
    command = lambda title: by_title[title].command if is_literal else by_title[title]
    for title in ("Go to copy 1: b.go:3", "Compare with copy 1: b.go:3", "Show all 2 copies"):
        result = await editor.run(command(title).command, *command(title).arguments)
        assert result is not None
    assert result[0]["uri"] == a.as_uri() and len(result) == 2
    if editor.offers.window and editor.offers.window.show_document and editor.offers.window.show_document.support:
        await editor.until("it went there", lambda: len(editor.shown_documents) == 2)
    other = types.CodeActionContext([], only=[types.CodeActionKind.Refactor])
    asked = types.CodeActionParams(document(a), diagnostic.range, other)
    assert not await editor.text_document_code_action_async(asked)
    if not is_literal:
        return
    uri, edits = edits_of(by_title["Ignore this copy"].edit)
    assert uri == a.as_uri()
    editor.replace(a, 2, applied(a.read_text(), edits))
    await editor.diagnosed(a, none)
    editor.replace(a, 3, a.read_text())
    await editor.diagnosed(a, some)
    uri, edits = edits_of(by_title["Ignore all 2 copies in dupi.toml"].edit)
    assert uri == (editor.root / "dupi.toml").as_uri()
    (editor.root / "dupi.toml").write_text(applied("", edits))
    created = types.FileEvent(uri, types.FileChangeType.Created)
    editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([created]))
    await editor.diagnosed(a, none)


async def test_every_command_is_answered(editor):
    report = await editor.run("dupi.report")
    assert len(report) == 1 and len(report[0]["classes"]) == 1
    await editor.run("dupi.reindex")
    status = await editor.idle()
    assert (status["files"], status["classes"]) == (2, 1) and status["generation"] > 0
    told = editor.received("dupi/status")
    assert {"idle", "busy"} == {status["state"] for status in told}
    with pytest.raises(JsonRpcException) as refused:
        await editor.run("dupi.compare", "nonsense")
    assert refused.value.code == types.ErrorCodes.InvalidParams


# ---- the workspace


async def test_settings_are_taken_over_as_the_editor_gives_them(editor):
    a = editor.root / "a.go"
    editor.open(a)
    await editor.diagnosed(a, some)
    # To one that is asked for its settings it is a sign to ask again; to others it brings them.
    settings = {"dupi": {"minLines": 15}}
    editor.set_configuration(settings)
    editor.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))
    await editor.diagnosed(a, none)
    settings = {"dupi": {"diagnostics": {"severity": {"code": "warning"}}, "codeLens": {"enable": False}}}
    editor.set_configuration(settings)
    editor.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))
    await editor.diagnosed(a, lambda found: found and found[0].severity == types.DiagnosticSeverity.Warning)
    assert not await editor.text_document_code_lens_async(types.CodeLensParams(document(a)))


async def test_a_broken_configuration_is_a_diagnostic_of_that_file(editor):
    config = editor.root / "dupi.toml"
    config.write_text("min-lines = 5\nmin-tokens = \n")
    changed = types.DidChangeWatchedFilesParams([types.FileEvent(config.as_uri(), types.FileChangeType.Changed)])
    editor.workspace_did_change_watched_files(changed)
    found = await editor.until("a diagnostic", lambda: editor.diagnostics.get(config.as_uri()))
    assert found[0].severity == types.DiagnosticSeverity.Error and found[0].range.start.line == 1
    config.write_text("min-lines = 5\n")
    editor.workspace_did_change_watched_files(changed)
    await editor.until("none any more", lambda: not editor.diagnostics[config.as_uri()])


async def test_files_that_change_on_disk_are_looked_at(editor):
    a, c = editor.root / "a.go", editor.root / "c.go"
    editor.open(a)
    await editor.diagnosed(a, some)
    c.write_text(source("c"))
    (editor.root / "b.go").unlink()
    events = [
        types.FileEvent(c.as_uri(), types.FileChangeType.Created),
        types.FileEvent((editor.root / "b.go").as_uri(), types.FileChangeType.Deleted),
    ]
    editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(events))
    await editor.diagnosed(a, lambda found: found and "c.go:3" in found[0].message)


async def test_folders_are_added_and_removed(editor, tmp_path):
    two = tmp_path / "two"
    two.mkdir()
    for name in ("x", "y"):
        (two / f"{name}.go").write_text(source(name))
    folder = types.WorkspaceFolder(uri=two.as_uri(), name="two")
    change = lambda added, removed: editor.workspace_did_change_workspace_folders(
        types.DidChangeWorkspaceFoldersParams(types.WorkspaceFoldersChangeEvent(added, removed))
    )
    change([folder], [])
    assert (await editor.idle())["files"] == 4
    editor.open(two / "x.go")
    await editor.diagnosed(two / "x.go", lambda found: found and "y.go:3" in found[0].message)
    change([], [folder])
    assert (await editor.idle())["files"] == 2
    await editor.diagnosed(two / "x.go", none)


async def test_progress_is_shown_and_can_be_cancelled(stranger, large_folder):
    n_files = len(list(large_folder.iterdir()))
    stranger.answer = await stranger.begin(stranger.offers, [large_folder])
    offers = stranger.offers.window and stranger.offers.window.work_done_progress
    if not offers:
        assert (await stranger.idle())["files"] == n_files
        assert stranger.received("window/workDoneProgress/create") == []
        return
    (begin,) = await stranger.until("progress", lambda: stranger.received("$/progress")[:1])
    assert begin["value"]["kind"] == "begin" and begin["value"]["cancellable"]
    stranger.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(begin["token"]))
    await stranger.until("an end", lambda: stranger.received("$/progress")[-1]["value"]["kind"] == "end")
    # On a busy machine all files may be read when the server hears of it: then they are not compared.
    assert (await stranger.idle())["classes"] is None
    assert any("cancelled" in told["message"] for told in stranger.received("window/logMessage"))
    await stranger.run("dupi.reindex")
    status = await stranger.idle()
    assert status["files"] == n_files and status["classes"] is not None


# ---- the judge


def test_what_is_not_offered_is_found():
    ask = (False, {"id": 1, "method": "textDocument/hover", "params": {}})
    watch = {"registrations": [{"method": "workspace/didChangeWatchedFiles"}]}
    told = [
        (True, {"id": 7, "method": "window/workDoneProgress/create", "params": {"token": "t"}}),
        (True, {"method": "$/progress", "params": {"token": "t", "value": {"kind": "end"}}}),
        (True, {"method": "textDocument/publishDiagnostics", "params": {"version": 1, "diagnostics": [{"data": 1}]}}),
        (True, {"id": 1, "result": {"contents": {"kind": "markdown", "value": ""}}}),
        (True, {"id": 8, "method": "client/registerCapability", "params": watch}),
        (True, {"id": 9, "method": "dupi/question"}),
    ]
    assert len(not_offered([ask, *told], {})) == 7
    assert len(unanswered([ask])) == 1 and unanswered([ask, told[3]]) == []
