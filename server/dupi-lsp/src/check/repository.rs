//! Where the checked folder lies in its repository, and how a file of it is linked to on the web. Runs nothing.

use std::path::Path;

use anyhow::{Result, bail};

#[derive(Clone, Debug, Default)]
pub struct Repository {
    /// What stands before each path: the folder in the repository that was checked, with a `/` behind it.
    prefix: String,
    /// The address of a file is this, a `/`, and its path.
    links: Option<String>,
}

impl Repository {
    /// `links`: what a user says; else what the CI says of itself.
    pub fn around(root: &Path, links: Option<&str>) -> Result<Repository> {
        let links = match links {
            Some(links) if ["https://", "http://"].iter().any(|scheme| links.starts_with(scheme)) => {
                Some(links.trim_end_matches('/').to_owned())
            }
            Some(_) => bail!("`--links` is no address: it starts with https://"),
            None => links_of_ci(|name| std::env::var(name).ok().filter(|value| !value.is_empty())),
        };
        let top = root.ancestors().find(|folder| folder.join(".git").exists());
        let prefix = top.and_then(|top| root.strip_prefix(top).ok()).filter(|below| !below.as_os_str().is_empty());
        let prefix = prefix.map_or(String::new(), |below| format!("{}/", dupi::files::show(below)));
        Ok(Repository { prefix, links })
    }

    /// A path as the repository has it: tools that annotate a change know no other.
    pub fn path(&self, shown: &str) -> String {
        format!("{}{shown}", self.prefix)
    }

    /// The same as a relative reference of a URI.
    pub fn uri(&self, shown: &str) -> String {
        encoded(&self.path(shown))
    }

    /// The address of some lines.
    pub fn link(&self, shown: &str, (first, last): (u32, u32)) -> Option<String> {
        let links = self.links.as_ref()?;
        Some(format!("{}/{}#L{first}-L{last}", links, self.uri(shown)))
    }
}

/// GitHub and GitLab say where the project is, and which commit they check.
fn links_of_ci(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let github = || {
        let (server, project) = (variable("GITHUB_SERVER_URL")?, variable("GITHUB_REPOSITORY")?);
        Some(format!("{server}/{project}/blob/{}", variable("GITHUB_SHA")?))
    };
    let gitlab = || Some(format!("{}/-/blob/{}", variable("CI_PROJECT_URL")?, variable("CI_COMMIT_SHA")?));
    github().or_else(gitlab)
}

/// With everything escaped that could mean something in a URI; a colon could make a scheme of a folder's name.
fn encoded(path: &str) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    utf8_percent_encode(path, KEPT).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_those_of_the_ci_unless_somebody_says_otherwise() {
        let github = |name: &str| match name {
            "GITHUB_SERVER_URL" => Some("https://github.com".to_owned()),
            "GITHUB_REPOSITORY" => Some("a/b".to_owned()),
            "GITHUB_SHA" => Some("c0ffee".to_owned()),
            _ => None,
        };
        assert_eq!(links_of_ci(github).as_deref(), Some("https://github.com/a/b/blob/c0ffee"));
        assert_eq!(links_of_ci(|_| None), None);
        assert!(Repository::around(Path::new("/"), Some("javascript:alert(1)")).is_err());
        let repository = Repository { links: Some("https://x".to_owned()), prefix: "sub/".to_owned() };
        assert_eq!(repository.link("a b(c).go", (1, 9)).as_deref(), Some("https://x/sub/a%20b%28c%29.go#L1-L9"));
    }
}
