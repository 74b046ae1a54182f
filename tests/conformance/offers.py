"""What a client may be sent, by what it offers. Knows messages as JSON and capabilities as JSON, and nothing else."""

# Requests that a server may send, each with the capability that offers it.
REQUESTS = {
    "client/registerCapability": None,  # Each registration by its own method: see below.
    "window/showDocument": "window.showDocument.support",
    "window/workDoneProgress/create": "window.workDoneProgress",
    "workspace/applyEdit": "workspace.applyEdit",
    "workspace/codeLens/refresh": "workspace.codeLens.refreshSupport",
    "workspace/configuration": "workspace.configuration",
    "workspace/diagnostic/refresh": "workspace.diagnostics.refreshSupport",
    "workspace/workspaceFolders": "workspace.workspaceFolders",
}
REGISTRATIONS = {
    "workspace/didChangeConfiguration": "workspace.didChangeConfiguration.dynamicRegistration",
    "workspace/didChangeWatchedFiles": "workspace.didChangeWatchedFiles.dynamicRegistration",
}
# Notifications that every client takes; `dupi/status` is the server's own, and documented.
NOTIFICATIONS = {
    "$/progress",
    "dupi/status",
    "textDocument/publishDiagnostics",
    "window/logMessage",
    "window/showMessage",
}
# Parts of a diagnostic that a client must know of.
DIAGNOSTIC_PARTS = {
    "codeDescription": "codeDescriptionSupport",
    "data": "dataSupport",
    "relatedInformation": "relatedInformation",
    "tags": "tagSupport",
}
PUSHED = ("textDocument.publishDiagnostics",)
# What the protocol added to pulling later, the first clients that pulled said only there.
PULLED = ("textDocument.diagnostic", *PUSHED)
ACTION_PARTS = {"data": "dataSupport", "disabled": "disabledSupport", "isPreferred": "isPreferredSupport"}


def offered(capabilities, path):
    """What stands at a path like `window.workDoneProgress`; None if there is nothing."""
    for name in path.split("."):
        if not isinstance(capabilities, dict):
            return None
        capabilities = capabilities.get(name)
    return capabilities


def not_offered(exchange, capabilities):
    """One line for each thing that was sent and not offered. `exchange` holds (from server?, message) in order."""
    found = []
    methods = {}  # What the client asked, by id.
    tokens = set()  # Tokens of progress that the client gave, or agreed to.
    creating = {}

    def need(path, what):
        if not offered(capabilities, path):
            found.append(f"{what} without {path}")

    for from_server, message in exchange:
        method, params, id = message.get("method"), message.get("params") or {}, message.get("id")
        if not from_server:
            if method and id is not None:
                methods[id] = method
                given = (params.get(key) for key in ("workDoneToken", "partialResultToken"))
                tokens |= {token for token in given if token is not None}
            elif id in creating and "error" not in message:
                tokens.add(creating.pop(id))
        elif method == "$/progress":
            if params["token"] not in tokens:
                found.append(f"progress of {params['token']!r}, which nobody has agreed to")
            items = params["value"].get("items", []) if "kind" not in params["value"] else []
            for item in items:
                diagnostics(item.get("items", []), PULLED, capabilities, found)
        elif method and id is not None:
            if method not in REQUESTS:
                found.append(f"the request {method}, which no client offers")
            elif method == "client/registerCapability":
                for registration in params["registrations"]:
                    what = registration["method"]
                    need(REGISTRATIONS.get(what, what), f"registering {what}")
            else:
                need(REQUESTS[method], method)
            if method == "window/workDoneProgress/create":
                creating[id] = params["token"]
        elif method:
            if method not in NOTIFICATIONS:
                found.append(f"the notification {method}, which no client knows")
            if method == "textDocument/publishDiagnostics":
                diagnostics(params["diagnostics"], PUSHED, capabilities, found)
                if "version" in params:
                    need("textDocument.publishDiagnostics.versionSupport", "a version of published diagnostics")
        elif message.get("result") is not None:
            answer(methods.get(id), message["result"], capabilities, need, found)
    return found


def diagnostics(items, places, capabilities, found):
    for item in items:
        for part in DIAGNOSTIC_PARTS.keys() & item.keys():
            if not any(offered(capabilities, f"{place}.{DIAGNOSTIC_PARTS[part]}") for place in places):
                found.append(f"{part} of a diagnostic without {places[0]}.{DIAGNOSTIC_PARTS[part]}")


def answer(method, result, capabilities, need, found):
    if method == "initialize":
        encodings = offered(capabilities, "general.positionEncodings") or ["utf-16"]
        if (encoding := result["capabilities"].get("positionEncoding", "utf-16")) not in encodings:
            found.append(f"positions in {encoding}")
        if "diagnosticProvider" in result["capabilities"]:
            need("textDocument.diagnostic", "diagnostics to pull")
    elif method == "textDocument/diagnostic":
        diagnostics(result.get("items", []), PULLED, capabilities, found)
    elif method == "workspace/diagnostic":
        for item in result["items"]:
            diagnostics(item.get("items", []), PULLED, capabilities, found)
    elif method == "textDocument/hover":
        formats = offered(capabilities, "textDocument.hover.contentFormat") or ["plaintext"]
        if result["contents"]["kind"] not in formats:
            found.append(f"a hover in {result['contents']['kind']}")
    elif method == "textDocument/codeAction":
        for action in result:
            if isinstance(action.get("command"), str):
                continue
            literal = "textDocument.codeAction.codeActionLiteralSupport"
            need(literal, "a code action that is no command")
            kinds = offered(capabilities, f"{literal}.codeActionKind.valueSet") or []
            # Kinds are a hierarchy: who takes quickfix takes quickfix.something, too.
            if not any(f"{action.get('kind')}.".startswith(f"{kind}.") for kind in kinds if kind):
                found.append(f"a code action of the kind {action.get('kind')}")
            for part in ACTION_PARTS.keys() & action.keys():
                need(f"textDocument.codeAction.{ACTION_PARTS[part]}", f"{part} of a code action")
            changes = (action.get("edit") or {}).get("documentChanges")
            if changes is not None:
                need("workspace.workspaceEdit.documentChanges", "an edit with documentChanges")
            for operation in (change["kind"] for change in changes or [] if "kind" in change):
                if operation not in (offered(capabilities, "workspace.workspaceEdit.resourceOperations") or []):
                    found.append(f"an edit with the operation {operation}")


def unanswered(exchange):
    """Requests of the client that have no answer, or more than one."""
    is_request = lambda message: "method" in message and "id" in message
    own = (message for from_server, message in exchange if not from_server)
    methods = {message["id"]: message["method"] for message in own if is_request(message)}
    asked = dict.fromkeys(methods, 0)
    for from_server, message in exchange:
        if from_server and "method" not in message and message.get("id") in asked:
            asked[message["id"]] += 1
    return [f"{n} answers to {methods[id]}" for id, n in asked.items() if n != 1]
