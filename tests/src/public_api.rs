//! The public surface of a crate, as Rust without bodies: its public items, with all features, as its
//! source has them. A private module shows what others may re-export from it.

use std::{fs, path::Path};

use syn::{
    Attribute, Fields, File, ImplItem, Item, ItemMod, Meta, Token, TraitItem, Type, Visibility,
    parse::{Parse, ParseStream},
    parse_quote,
    punctuated::Punctuated,
};

/// The public surface of the crate whose sources are in `folder`.
///
/// # Panics
/// When a source cannot be read.
pub fn surface_of(folder: &Path) -> String {
    let items = surface(read(&folder.join("lib.rs")).items, folder);
    prettyplease::unparse(&File { shebang: None, attrs: Vec::new(), items })
}

fn read(path: &Path) -> File {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What of these items is public; the modules among them have their files in `folder`.
fn surface(items: Vec<Item>, folder: &Path) -> Vec<Item> {
    let private: Vec<String> = items.iter().filter_map(private_name).collect();
    let items = items.into_iter().flat_map(|item| public(item, folder, &private));
    items.collect()
}

/// The name of a type that is seen nowhere else, or of a macro that makes nothing public.
fn private_name(item: &Item) -> Option<String> {
    match item {
        Item::Struct(item) if !is_public(&item.vis) => Some(item.ident.to_string()),
        Item::Enum(item) if !is_public(&item.vis) => Some(item.ident.to_string()),
        Item::Macro(item) if !item.mac.tokens.to_string().contains("pub ") => {
            item.ident.as_ref().map(ToString::to_string)
        }
        _ => None,
    }
}

fn is_public(vis: &Visibility) -> bool {
    matches!(vis, Visibility::Public(_))
}

/// An item without its bodies and docs; nothing if it is private, several if a macro makes them.
fn public(mut item: Item, folder: &Path, private: &[String]) -> Vec<Item> {
    let shown = match &mut item {
        Item::Mod(item) => return module(item, folder).into_iter().map(Item::Mod).collect(),
        Item::Macro(item) if item.mac.path.is_ident("fields") => {
            let rows =
                item.mac.parse_body_with(Punctuated::<FieldHandle, Token![;]>::parse_terminated);
            return rows.unwrap().into_iter().map(|row| row.0).collect();
        }
        Item::Macro(item) if is_named(&item.mac.path, private) => false,
        // Handles that only the files next to it use.
        Item::Macro(item) if item.mac.path.is_ident("handles") => false,
        Item::Macro(item) => return shown_macro(item),
        Item::Impl(item) => {
            plain(&mut item.attrs);
            let inherent = item.trait_.is_none();
            item.items.retain(|item| !inherent || is_public_member(item));
            item.items.iter_mut().for_each(without_body);
            let of_private =
                matches!(&*item.self_ty, Type::Path(path) if is_named(&path.path, private));
            !of_private && (!inherent || !item.items.is_empty())
        }
        other => strip(other).is_some_and(|vis| is_public(&vis)),
    };
    if shown { vec![item] } else { Vec::new() }
}

/// Takes bodies and docs from an item, and says who sees it.
fn strip(item: &mut Item) -> Option<Visibility> {
    let (attrs, vis) = match item {
        Item::Trait(item) => {
            item.items.iter_mut().for_each(without_default);
            (&mut item.attrs, &item.vis)
        }
        Item::Struct(item) => {
            only_public(&mut item.fields);
            (&mut item.attrs, &item.vis)
        }
        Item::Enum(item) => {
            for variant in &mut item.variants {
                plain(&mut variant.attrs);
                variant.fields.iter_mut().for_each(|field| plain(&mut field.attrs));
            }
            (&mut item.attrs, &item.vis)
        }
        Item::Fn(item) => {
            item.block = parse_quote!({});
            (&mut item.attrs, &item.vis)
        }
        Item::Static(item) => {
            item.expr = parse_quote!(_);
            (&mut item.attrs, &item.vis)
        }
        Item::Const(item) => (&mut item.attrs, &item.vis),
        Item::Type(item) => (&mut item.attrs, &item.vis),
        Item::Use(item) => (&mut item.attrs, &item.vis),
        _ => return None,
    };
    plain(attrs);
    Some(vis.clone())
}

fn is_named(path: &syn::Path, names: &[String]) -> bool {
    let mut segments = path.segments.iter();
    let name = segments.next().filter(|_| segments.next().is_none());
    name.is_some_and(|name| names.contains(&name.ident.to_string()))
}

/// A macro for others, by its name alone, or the call of one that makes items, as it is.
fn shown_macro(item: &mut syn::ItemMacro) -> Vec<Item> {
    let exported = item.attrs.iter().any(|attr| attr.path().is_ident("macro_export"));
    match &item.ident {
        Some(_) if !exported => return Vec::new(),
        Some(_) => item.mac.tokens = quote::quote!(() => {}),
        None => {}
    }
    plain(&mut item.attrs);
    vec![Item::Macro(item.clone())]
}

/// A module with what is public in it; none if that is nothing, or if it holds tests.
fn module(item: &mut ItemMod, folder: &Path) -> Option<ItemMod> {
    let is_test = |attr: &Attribute| matches!(&attr.meta, Meta::List(list) if list.path.is_ident("cfg") && list.tokens.to_string().contains("test"));
    if item.attrs.iter().any(is_test) {
        return None;
    }
    let name = item.ident.to_string();
    let below = folder.join(&name);
    let items = match item.content.take() {
        Some((_, items)) => items,
        None => {
            let beside = folder.join(format!("{name}.rs"));
            read(&if beside.exists() { beside } else { below.join("mod.rs") }).items
        }
    };
    plain(&mut item.attrs);
    item.semi = None;
    item.content = Some((syn::token::Brace::default(), surface(items, &below)));
    item.content.as_ref().is_some_and(|(_, items)| !items.is_empty()).then(|| item.clone())
}

/// Only attributes that others notice.
fn plain(attrs: &mut Vec<Attribute>) {
    let noticed = ["cfg", "cfg_attr", "derive", "must_use", "non_exhaustive", "macro_export"];
    attrs.retain(|attr| noticed.iter().any(|name| attr.path().is_ident(name)));
}

/// Leaves the public fields; one in place of the others says that there are some.
fn only_public(fields: &mut Fields) {
    let Fields::Named(named) = fields else { return };
    let all = named.named.len();
    let public = std::mem::take(&mut named.named).into_iter().filter(|field| is_public(&field.vis));
    named.named = public.collect();
    if named.named.len() < all {
        named.named.push(parse_quote!(private: _));
    }
    named.named.iter_mut().for_each(|field| plain(&mut field.attrs));
}

fn is_public_member(item: &ImplItem) -> bool {
    match item {
        ImplItem::Fn(item) => is_public(&item.vis),
        ImplItem::Const(item) => is_public(&item.vis),
        _ => false,
    }
}

fn without_body(item: &mut ImplItem) {
    match item {
        ImplItem::Fn(item) => {
            plain(&mut item.attrs);
            item.block = parse_quote!({});
        }
        ImplItem::Const(item) => plain(&mut item.attrs),
        _ => {}
    }
}

fn without_default(item: &mut TraitItem) {
    match item {
        TraitItem::Fn(item) => {
            plain(&mut item.attrs);
            // An empty body replaces the default one.
            item.default = item.default.as_ref().map(|_| parse_quote!({}));
        }
        TraitItem::Const(item) => plain(&mut item.attrs),
        TraitItem::Type(item) => plain(&mut item.attrs),
        _ => {}
    }
}

/// A row of a resource: the handle that `fields!` makes of it.
struct FieldHandle(Item);

impl Parse for FieldHandle {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        input.call(Attribute::parse_outer)?;
        let (handle, _): (syn::Ident, Token![:]) = (input.parse()?, input.parse()?);
        let (kind, _): (syn::Ident, Token![=]) = (input.parse()?, input.parse()?);
        let name: syn::LitStr = input.parse()?;
        while !input.peek(Token![;]) {
            input.parse::<proc_macro2::TokenTree>()?;
        }
        Ok(Self(parse_quote!(pub const #handle: Field<#kind> = #name;)))
    }
}
