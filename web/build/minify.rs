//! Makes JavaScript smaller with oxc: no comments, no blanks, short names. The compressor of oxc is left out: it takes
//! longer to build than its savings are worth, since constants, which it would inline, are inlined before.

use oxc_allocator::Allocator;
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_mangler::{MangleOptions, Mangler};
use oxc_parser::Parser;
use oxc_span::SourceType;

use crate::{Failure, constants};

/// The script in as few bytes as possible. It is read as a module: its exports and undeclared names stay.
pub(crate) fn minify(script: &str) -> Result<String, Failure> {
    let script = constants::inline(script);
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, &script, SourceType::mjs()).parse();
    if let Some(problem) = parsed.diagnostics.first() {
        return Err(format!("a script for the browser cannot be read: {problem}"));
    }
    let options = MangleOptions { top_level: Some(true), ..MangleOptions::default() };
    let short = Mangler::new().with_options(options).build(&parsed.program);
    let written = Codegen::new()
        .with_options(CodegenOptions::minify())
        .with_scoping(Some(short.scoping))
        .with_private_member_mappings(Some(short.class_private_mappings))
        .build(&parsed.program);
    Ok(written.code)
}
