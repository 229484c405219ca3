//! A device in the words of an image, and back.
//!
//! An image names the scheme and the chip with all their parameters, and the layers with the
//! options that were given. So defaults may change, and an image stays the device that it was.

use std::path::Path;

use ftl::device::{Size, block_bytes};
use ftl::{Choice, Device, Durability, Layers};
use image::Recipe;
use nand::{ChipModel, Media, MediaModel, WearChoice};
use spec::Spec;

use crate::error::{Error, Result};

/// The recipe of an image for a device.
pub fn of_device(device: &Device) -> Recipe {
    let params = device.choice.params.settings().into_iter();
    let params: Vec<String> = params.map(|(name, value)| format!("{name}={value}")).collect();
    Recipe {
        geometry: *device.chip_geometry(),
        chip: device.chip.full_spec().to_string(),
        scheme: device.choice.scheme.name.to_owned(),
        layers: device.layers.to_string().trim_start().to_owned(),
        parameters: params.join(","),
        media: words(&media_options(device)),
        seed: device.seed,
        capacity_bytes: device.capacity_bytes(),
    }
}

/// Options as an image writes them.
fn words(options: &[(&str, String)]) -> String {
    let words: Vec<String> =
        options.iter().map(|(name, value)| format!("--{name} {value}")).collect();
    words.join(" ")
}

/// Refuses a device whose scheme lives on knowledge of the future.
///
/// # Errors
/// It does.
pub fn check(device: &Device) -> Result<()> {
    let scheme = device.choice.scheme;
    match scheme.needs_future {
        false => Ok(()),
        true => Err(Error::from(ftl::Error::Refused {
            scheme: scheme.name,
            why: "it bounds other schemes and knows the future from a trace, which a disk does \
                  not have; take another scheme"
                .into(),
        })),
    }
}

/// The device of a recipe.
///
/// # Errors
/// The recipe comes from another version of the program, or contradicts itself.
pub fn device(recipe: &Recipe) -> Result<Device> {
    let device = read(recipe).map_err(|error| Error::Unknown(error.to_string()))?;
    let again = of_device(&device);
    match again.expect(recipe) {
        Ok(()) => Ok(device),
        Err(error) => Err(Error::Unknown(error.to_string())),
    }
}

fn read(recipe: &Recipe) -> Result<Device> {
    let chip = ChipModel::from_spec(&Spec::parse(&recipe.chip)?)?;
    let choice = scheme(recipe)?;
    let layers = layers(&recipe.layers)?;
    layers.check(choice.scheme, &choice.given, &chip)?;
    let all = recipe.geometry.blocks();
    if chip.geometry(all)? != recipe.geometry {
        return Err(Error::Unknown(format!("a chip `{}` with other pages", recipe.chip)));
    }
    let MediaOptions { media, wear } = media(&recipe.media, &chip)?;
    let others =
        media.map_or(0, |(_, reserve_blocks)| reserve_blocks.saturating_add(Media::LIST_BLOCKS));
    let too_few = || Error::Unknown(format!("{others} of {all} blocks for those that fail"));
    let blocks = all.checked_sub(others).filter(|&blocks| blocks > 0).ok_or_else(too_few)?;
    let logical_blocks = recipe.capacity_bytes.div_ceil(block_bytes(&chip));
    // A device with more blocks than the chip would take memory that no file justifies.
    let too_many = || Error::Unknown(format!("{logical_blocks} logical blocks out of {blocks}"));
    let logical = u32::try_from(logical_blocks).ok().filter(|logical| *logical <= blocks);
    let logical = logical.ok_or_else(too_many)?;
    let of_layers = layers.blocks(&chip);
    let system_blocks = choice.system_blocks(&chip, logical, Durability::Full);
    // All blocks are known, and so are those that are not extra.
    let others = logical_blocks + u64::from(system_blocks) + u64::from(of_layers.added);
    let extra_blocks = u64::from(blocks).checked_sub(others).ok_or_else(too_many)?;
    let size = Size { logical_blocks, extra_blocks };
    let device = Device::new(chip, choice, layers, size, Durability::Full, recipe.seed)?;
    let device = match media {
        Some((model, reserve_blocks)) => device.on_media(model, reserve_blocks.into())?,
        None => device,
    };
    Ok(device.levelled_by(wear)?)
}

/// How the flash fails, the blocks in reserve, and how wear is levelled.
#[derive(Default)]
struct MediaOptions {
    media: Option<(MediaModel, u32)>,
    wear: WearChoice,
}

fn media(text: &str, chip: &ChipModel) -> Result<MediaOptions> {
    let unknown = || Error::Unknown(format!("media `{text}`"));
    let (mut model, mut reserve, mut wear) = (None, None, WearChoice::default());
    for (name, value) in options(text)? {
        match &*name {
            "media" => model = MediaModel::parse(&value, chip.rated_cycles)?,
            "reserve" => reserve = value.strip_suffix("blocks").and_then(|it| it.parse().ok()),
            "wear" => wear = WearChoice::parse(&value)?,
            _ => return Err(unknown()),
        }
    }
    match (model, reserve) {
        (None, None) => Ok(MediaOptions { media: None, wear }),
        (Some(model), Some(reserve)) => Ok(MediaOptions { media: Some((model, reserve)), wear }),
        _ => Err(unknown()),
    }
}

/// The scheme. All its parameters are written out; which of them the user gave no longer matters.
fn scheme(recipe: &Recipe) -> Result<Choice> {
    let mut spec = Spec::plain(&recipe.scheme);
    if !recipe.parameters.is_empty() {
        spec.pairs = spec::parse_pairs(&recipe.parameters)?;
    }
    Ok(Choice { given: Vec::new(), ..Choice::from_spec(&spec)? })
}

fn layers(text: &str) -> Result<Layers> {
    let options = options(text)?;
    let texts = options.iter().map(|(name, value)| (&**name, &**value));
    Ok(Layers::from_texts(&texts.collect::<Vec<_>>())?)
}

/// Options as an image writes them: names and values.
fn options(text: &str) -> Result<Vec<(String, String)>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let option = |pair: &[&str]| match *pair {
        [name, value] => Ok((name.trim_start_matches("--").replace('-', "_"), value.to_owned())),
        _ => Err(Error::Unknown(format!("options `{text}`"))),
    };
    words.chunks(2).map(option).collect()
}

/// The options that say how the flash of a device fails and how its wear is levelled: names and
/// values; none if it never fails and nothing is levelled.
fn media_options(device: &Device) -> Vec<(&'static str, String)> {
    let media = device.media().into_iter().flat_map(|(model, reserve_blocks)| {
        [("media", model.to_string()), ("reserve", format!("{reserve_blocks}blocks"))]
    });
    let wear = Some(device.wear().to_string()).filter(|wear| wear != "none");
    media.chain(wear.map(|wear| ("wear", wear))).collect()
}

/// The options of `ftlab run` that describe a device: names, with `_` inside, and values.
pub fn run_options(device: &Device) -> Vec<(&'static str, String)> {
    let of_layers = device.layer_blocks - device.layers.blocks(&device.chip).added;
    let given = device.layers.iter().flat_map(|setting| setting.given.iter().cloned());
    let own = [
        ("ftl", scheme_spec(&device.choice)),
        ("chip", device.chip.spec().to_string()),
        ("capacity", device.capacity_bytes().to_string()),
        ("extra", format!("{}blocks", device.extra_blocks + of_layers)),
        ("durability", device.durability.name().to_owned()),
        ("seed", device.seed.to_string()),
    ];
    own.into_iter().chain(media_options(device)).chain(given).collect()
}

/// The command that replays a record of everything that was done to a device since it was new. It
/// counts the same operations of the flash as the device did after its first mount. Each word is
/// one argument, not quoted for a shell.
pub fn run_command(device: &Device, record: &Path) -> Vec<String> {
    let record = record.display().to_string();
    // A name that looks like an option would be taken for one.
    let record = if record.starts_with('-') { format!("./{record}") } else { record };
    let measuring = [
        ("format", "csv"),
        ("precondition", "none"),
        ("warmup", "0"),
        ("fit", "error"),
        ("flush", "honour"),
        ("replay", "closed"),
    ];
    let measuring = measuring.map(|(name, value)| (name, value.to_owned()));
    let options = run_options(device).into_iter().chain(measuring);
    let words = options.flat_map(|(name, value)| [format!("--{}", name.replace('_', "-")), value]);
    ["ftlab".to_owned(), "run".to_owned(), record].into_iter().chain(words).collect()
}

/// The spec of a scheme, without parameters that have their default.
pub fn scheme_spec(choice: &Choice) -> String {
    let defaults = spec::resolve(choice.scheme.name, &[], choice.scheme.params);
    let defaults = defaults.expect("the defaults of a scheme are valid").settings();
    let pairs = choice.params.settings();
    let pairs = pairs.into_iter().filter(|setting| !defaults.contains(setting)).collect();
    Spec { name: choice.scheme.name.to_owned(), pairs }.to_string()
}
