//! The files of Swagger UI, out of the archive that its crate carries.

use std::io::{Cursor, Read};

use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;

use crate::{
    Failure,
    embed::{CSS, Embedded, JAVASCRIPT},
};

/// What the page needs of it.
pub(crate) fn files() -> Result<Vec<Embedded>, Failure> {
    let broken = |error: &dyn std::error::Error| format!("Swagger UI cannot be unpacked: {error}");
    let mut archive =
        ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED)).map_err(|error| broken(&error))?;
    let wanted = [("swagger-ui-bundle.js", JAVASCRIPT), ("swagger-ui.css", CSS)];
    let mut files = Vec::new();
    for (name, content_type) in wanted {
        let path = archive
            .file_names()
            .filter_map(Result::ok)
            .find(|path| path.ends_with(&format!("/dist/{name}")))
            .ok_or_else(|| format!("Swagger UI has no {name}"))?
            .into_owned();
        let mut bytes = Vec::new();
        let mut file = archive.by_name(&path).map_err(|error| broken(&error))?;
        file.read_to_end(&mut bytes).map_err(|error| broken(&error))?;
        files.push(Embedded::new(name, content_type, bytes));
    }
    Ok(files)
}
