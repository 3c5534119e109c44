//! Blocks of code: escaped, with comments and strings in classes of their own.

/// Languages whose comments and strings are marked, each with the beginning of a comment.
const PAINTED: &[(&str, &str)] = &[
    ("sh", "#"),
    ("python", "#"),
    ("toml", "#"),
    ("nginx", "#"),
    ("caddy", "#"),
    ("ini", "#"),
    ("dockerfile", "#"),
    ("js", "//"),
    ("rust", "//"),
];

/// A block whose info string begins with its language; the rest is the name of the file.
pub(crate) fn block(info: &str, text: &str) -> String {
    let (language, file) = info.split_once(' ').unwrap_or((info, ""));
    let caption = match file {
        "" => String::new(),
        file => format!("<figcaption>{}</figcaption>", escape(file)),
    };
    let body = match language {
        "console" => console(text),
        _ => match PAINTED.iter().find(|(known, _)| *known == language) {
            Some((_, comment)) => {
                text.split_inclusive('\n').map(|line| paint(line, comment)).collect()
            }
            None => escape(text),
        },
    };
    format!(
        "<figure class=\"code\">{caption}<pre tabindex=\"0\"><code>{body}</code></pre></figure>\n"
    )
}

/// A transcript: commands, which begin with `$ ` and are copied by the button, and their output.
fn console(text: &str) -> String {
    let mut is_command = false;
    let mut html = String::new();
    for line in text.split_inclusive('\n') {
        let starts = line.strip_prefix("$ ");
        let continues = is_command.then_some(line);
        match starts.or(continues) {
            Some(command) => {
                if starts.is_some() {
                    html += "<span class=\"prompt\">$ </span>";
                }
                html += &format!("<b>{}</b>", escape(command));
                is_command = command.trim_end().ends_with('\\');
            }
            None => html += &escape(line),
        }
    }
    html
}

/// A line with its comment and its strings marked. A string that continues in the next line is left as it is.
fn paint(line: &str, comment: &str) -> String {
    let mut html = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let is_start = html.is_empty() || html.ends_with(char::is_whitespace);
        if is_start && rest.starts_with(comment) {
            return html + &format!("<i>{}</i>", escape(rest));
        }
        let end = matches!(first, '"' | '\'')
            .then(|| rest.get(1..).and_then(|after| after.find(first)))
            .flatten();
        let (piece, after) = rest.split_at(end.map_or(first.len_utf8(), |end| end + 2));
        html += &match end {
            Some(_) => format!("<q>{}</q>", escape(piece)),
            None => escape(piece),
        };
        rest = after;
    }
    html
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
