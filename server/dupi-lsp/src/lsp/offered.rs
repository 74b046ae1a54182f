//! What the client offers: nothing that it does not is ever sent.

use tower_lsp::ls_types::{ClientCapabilities, MarkupKind, ResourceOperationKind};

use super::positions::Encoding;

#[derive(Clone, Debug, Default)]
pub struct Offered {
    pub encoding: Encoding,
    /// It asks for diagnostics itself, so none are pushed: it would show each twice. One that cannot be told to ask again
    /// would go on showing what was true of a document before another one was edited; that is better pushed.
    pub pulls: bool,
    pub diagnostic_refresh: bool,
    pub code_lens_refresh: bool,
    pub related_information: bool,
    /// Diagnostics may carry what only the server understands.
    pub data: bool,
    pub versions: bool,
    pub progress: bool,
    /// It tells of changes on disk if it is asked to.
    pub watches: bool,
    pub configuration: bool,
    pub configuration_registration: bool,
    pub show_document: bool,
    /// Edits may name the version of a document that they are meant for.
    pub versioned_edits: bool,
    /// … and make the file first.
    pub creates_files: bool,
    pub code_action_literals: bool,
    /// Hovers in Markdown.
    pub markdown: bool,
}

impl Offered {
    pub fn new(client: &ClientCapabilities) -> Offered {
        let text = client.text_document.as_ref();
        let workspace = client.workspace.as_ref();
        let window = client.window.as_ref();
        let publish = text.and_then(|text| text.publish_diagnostics.as_ref());
        let pull = text.and_then(|text| text.diagnostic.as_ref());
        let encodings = client.general.as_ref().and_then(|general| general.position_encodings.as_deref());
        let hover = text.and_then(|text| text.hover.as_ref()).and_then(|hover| hover.content_format.as_ref());
        let watched = workspace.and_then(|workspace| workspace.did_change_watched_files.as_ref());
        let changed = workspace.and_then(|workspace| workspace.did_change_configuration.as_ref());
        let yes = |flag: Option<bool>| flag == Some(true);
        let diagnostic_refresh = yes(workspace
            .and_then(|workspace| workspace.diagnostics.as_ref())
            .and_then(|diagnostics| diagnostics.refresh_support));
        Offered {
            encoding: Encoding::negotiate(encodings),
            pulls: pull.is_some() && (diagnostic_refresh || publish.is_none()),
            diagnostic_refresh,
            code_lens_refresh: yes(workspace
                .and_then(|workspace| workspace.code_lens.as_ref())
                .and_then(|lens| lens.refresh_support)),
            related_information: yes(publish.and_then(|publish| publish.related_information))
                || yes(pull.and_then(|pull| pull.related_information)),
            data: yes(publish.and_then(|publish| publish.data_support)) || yes(pull.and_then(|pull| pull.data_support)),
            versions: yes(publish.and_then(|publish| publish.version_support)),
            progress: yes(window.and_then(|window| window.work_done_progress)),
            watches: yes(watched.and_then(|watched| watched.dynamic_registration)),
            configuration: yes(workspace.and_then(|workspace| workspace.configuration)),
            configuration_registration: yes(changed.and_then(|changed| changed.dynamic_registration)),
            show_document: window.and_then(|window| window.show_document.as_ref()).is_some_and(|show| show.support),
            versioned_edits: yes(workspace
                .and_then(|workspace| workspace.workspace_edit.as_ref())
                .and_then(|edit| edit.document_changes)),
            creates_files: workspace
                .and_then(|workspace| workspace.workspace_edit.as_ref())
                .and_then(|edit| edit.resource_operations.as_ref())
                .is_some_and(|operations| operations.contains(&ResourceOperationKind::Create)),
            code_action_literals: text
                .and_then(|text| text.code_action.as_ref())
                .is_some_and(|action| action.code_action_literal_support.is_some()),
            markdown: hover.is_some_and(|formats| formats.contains(&MarkupKind::Markdown)),
        }
    }
}
