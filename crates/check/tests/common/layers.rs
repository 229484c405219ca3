//! The layers that several test files try.

use check::device_model::DEVICE_MODELS;
use check::subject::Subject;
use ftl::{LAYERS, Layers};

use crate::common::schemes;

/// The corners of every layer.
pub fn corners() -> Vec<Layers> {
    let corners = LAYERS.iter().flat_map(|layer| layer.corners);
    corners.map(|corner| Layers::from_texts(corner).unwrap()).collect()
}

/// Every scheme under each of these layers that it accepts.
pub fn under(layers: &[Layers]) -> Vec<Subject> {
    let subjects = schemes().into_iter().flat_map(|scheme| {
        let subject = || Subject::of(scheme, &[]).unwrap();
        let chip = DEVICE_MODELS[0].chip();
        let accepts = move |layers: &&Layers| layers.check(scheme, &[], &chip).is_ok();
        layers.iter().filter(accepts).map(move |layers| subject().under(layers))
    });
    subjects.collect()
}
