//! The example of a request as a command of curl, over variables that the overview explains.

use serde_json::Value;

use super::description::{Call, Content, Operation, Parameter};

/// The scope of operators.
const OPERATOR: &str = "operator";

/// The command that sends the example of a call with one of its bodies.
pub(super) fn command(call: &Call<'_>, body: Option<(&str, &Content)>) -> String {
    let method = match (call.method, &body) {
        ("get", None) | ("post", Some(_)) => String::new(),
        (method, _) => format!(" -X {}", method.to_uppercase()),
    };
    let mut command = format!("curl -s{method} \"$BASE{}\"", address(call));
    let parts = [credentials(call.operation), body.and_then(|(kind, content)| sent(kind, content))];
    for part in parts.into_iter().flatten() {
        command.push_str(" \\\n  ");
        command.push_str(&part);
    }
    command
}

/// The path with an example in the place of each parameter, and the query that has to be there.
fn address(call: &Call<'_>) -> String {
    let mut path = call.path.to_owned();
    let parameters = &call.operation.parameters;
    for parameter in parameters.iter().filter(|parameter| parameter.place == "path") {
        path = path.replace(&format!("{{{}}}", parameter.name), &example(parameter));
    }
    let required = parameters.iter().filter(|it| it.place == "query" && it.required);
    let query: Vec<_> =
        required.map(|parameter| format!("{}={}", parameter.name, example(parameter))).collect();
    if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
}

fn example(parameter: &Parameter) -> String {
    match (parameter.name.as_str(), &parameter.example) {
        ("tenant", _) => "$TENANT".to_owned(),
        (_, Some(Value::String(example))) => example.clone(),
        (_, example) => example.as_ref().map(Value::to_string).unwrap_or_default(),
    }
}

fn credentials(operation: &Operation) -> Option<String> {
    match (&operation.security, operation.scope.as_deref()) {
        (Some(schemes), _) if schemes.is_empty() => None,
        (Some(_), _) => Some("-u \"$TENANT:\"".to_owned()),
        (None, Some(OPERATOR)) => Some("-H \"Authorization: Bearer $OPERATOR\"".to_owned()),
        (None, _) => Some("-H \"Authorization: Bearer $TOKEN\"".to_owned()),
    }
}

/// A body with its media type.
fn sent(kind: &str, content: &Content) -> Option<String> {
    let body = match content.example.as_ref()? {
        Value::String(text) => text.trim_end().to_owned(),
        value => written(value),
    };
    // A quote ends the text of the shell, is there itself, and begins it again.
    let body = body.replace('\'', "'\\''");
    // With `-d`, curl takes the line breaks out of a file.
    let flag = if kind.ends_with("json") { "-d" } else { "--data-binary" };
    Some(format!("-H \"Content-Type: {kind}\" \\\n  {flag} '{body}'"))
}

/// JSON for people; what is short on one line.
pub(super) fn written(value: &Value) -> String {
    const MAX_LINE_BYTES: usize = 60;
    let on_one_line = value.to_string();
    if on_one_line.len() <= MAX_LINE_BYTES {
        return on_one_line;
    }
    serde_json::to_string_pretty(value).unwrap_or(on_one_line)
}
