use serde_json::json;

use super::*;

/// A description of one operation, with what a page must escape in each of its texts.
fn described(text: &str) -> Value {
    json!({
        "info": { "version": "1", "description": text },
        "tags": [{ "name": "things", "description": text }],
        "paths": { "/things/{id}": { "put": {
            "operationId": "put_things_id", "summary": format!("things: {text}"), "description": text,
            "tags": ["things"], "x-scope": "things:update",
            "parameters": [
                { "name": "id", "in": "path", "required": true, "description": text, "example": "extid-x",
                  "schema": { "type": "string" } },
                { "name": "reason", "in": "query", "required": true, "description": text,
                  "example": "it's", "schema": { "type": "string", "minLength": 1, "maxLength": 9 } },
            ],
            "requestBody": { "required": true, "content": { "application/json": {
                "schema": { "$ref": "#/components/schemas/ThingUpdate" }, "example": { "name": "it's" },
            } } },
            "responses": {
                "200": { "description": text, "headers": {}, "content": { "application/json": {
                    "schema": { "$ref": "#/components/schemas/Thing" }, "example": { "name": text },
                } } },
                "404": { "$ref": "#/components/responses/NotFound" },
            },
        } } },
        "components": {
            "securitySchemes": {},
            "headers": { "ETag": { "description": text } },
            "responses": { "NotFound": { "description": text, "content": {} } },
            "schemas": {
                "Thing": { "description": text, "properties": {
                    "_id": { "type": "string", "readOnly": true, "description": text },
                    "name": { "type": ["string", "null"], "description": text },
                    "parts": { "type": "array", "description": text, "items": { "properties": {
                        "size": { "type": "number", "maximum": 1e15, "description": text },
                    } } },
                } },
                "ThingUpdate": { "description": text, "properties": {
                    "name": { "type": ["string", "null"], "maxLength": 5, "description": text },
                } },
            },
        },
    })
}

fn page(text: &str, group: &str) -> String {
    let reference = Reference::new(&described(text)).unwrap();
    reference.pages.into_iter().find(|page| page.group == group).unwrap().html
}

/// The text of a page, without its elements.
fn text(html: &str) -> String {
    let parts = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    parts.collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_operation_is_shown_with_all_that_a_caller_needs() {
    let page = text(&page("Does.", "things"));
    for part in [
        "PUT /things/{id}",
        "Scope: things:update",
        "id path, string required Does.",
        "reason query, string, 1 to 9 characters required Does.",
        "application/json : Thing , without read-only properties, each property optional",
        "curl -s -X PUT \"$BASE/things/extid-x?reason=it's\"",
        "-d '{\"name\":\"it'\\''s\"}'",
        "Response 200 {\"name\":\"Does.\"}",
        "_id string read-only",
        "name string or null",
        "parts array of object",
        "parts[].size number, at most 10^15",
    ] {
        assert!(page.contains(part), "no {part} in {page}");
    }
}

#[test]
fn what_is_described_is_text_on_every_page() {
    for group in ["", "things"] {
        let page = page("\"><img src=x onerror=alert(1)> `<b>` {{main}}", group);
        assert!(!page.contains("<img") && page.contains("&lt;img"), "{page}");
        assert!(page.contains("<code>&lt;b&gt;</code>") && page.contains("{{main}}"), "{page}");
    }
}

#[test]
fn a_description_without_an_operation_id_is_an_error() {
    let mut described = described("x");
    described["paths"]["/things/{id}"]["put"].as_object_mut().unwrap().remove("operationId");
    assert!(Reference::new(&described).unwrap_err().contains("operationId"));
}
