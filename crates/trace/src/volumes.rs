//! Maps the devices of a trace to one address space, one after the other.
//!
//! ```text
//! device 0 [..........]     device 1 [....]         each rounded up to a block
//! layout   [..........|pad][....|pad]               base(0) = 0, base(1) = end of the first pad
//! ```

use crate::analysis::survey::Survey;
use crate::request::Request;

/// The devices of a trace that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeChoice {
    /// All, one after the other.
    All,
    /// Only the device with this number.
    One(u32),
}

/// The position of each device in a common address space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeLayout {
    /// The start of each device, in bytes; `None` for devices that are not used.
    bases: Vec<Option<u64>>,
    total_bytes: u64,
}

impl VolumeLayout {
    /// The layout of devices with these sizes, each rounded up to a multiple of `align_bytes`.
    /// `None` if they exceed 64 bits or the chosen device does not exist.
    ///
    /// # Panics
    /// If `align_bytes` is 0.
    pub fn new(
        sizes_bytes: &[u64],
        choice: VolumeChoice,
        align_bytes: u64,
    ) -> Option<VolumeLayout> {
        assert!(align_bytes > 0, "volumes cannot be aligned to 0 bytes");
        if let VolumeChoice::One(device) = choice
            && device as usize >= sizes_bytes.len()
        {
            return None;
        }
        let (mut bases, mut total_bytes) = (Vec::with_capacity(sizes_bytes.len()), 0u64);
        for (device, size) in sizes_bytes.iter().enumerate() {
            let chosen = match choice {
                VolumeChoice::All => true,
                VolumeChoice::One(one) => one as usize == device,
            };
            bases.push(chosen.then_some(total_bytes));
            if chosen {
                let rounded = size.checked_next_multiple_of(align_bytes)?;
                total_bytes = total_bytes.checked_add(rounded)?;
            }
        }
        Some(VolumeLayout { bases, total_bytes })
    }

    /// The layout of a trace that has been surveyed; see [`VolumeLayout::new`].
    pub fn of(survey: &Survey, choice: VolumeChoice, align_bytes: u64) -> Option<VolumeLayout> {
        let sizes: Vec<_> = survey.devices.iter().map(|device| device.end_bytes).collect();
        VolumeLayout::new(&sizes, choice, align_bytes)
    }

    /// The start of a device, in bytes; `None` if it is not used.
    pub fn base(&self, device: u32) -> Option<u64> {
        self.bases.get(device as usize).copied().flatten()
    }

    /// The size of the common address space, in bytes.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// The request in the common address space; `None` if its device is not used.
    pub fn place(&self, request: &Request) -> Option<Request> {
        let offset = request.offset.checked_add(self.base(request.device)?)?;
        Some(Request { offset, device: 0, ..*request })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Flags, Op};

    #[test]
    fn devices_follow_each_other_at_block_boundaries() {
        let layout = VolumeLayout::new(&[100, 4096, 0, 5000], VolumeChoice::All, 4096).unwrap();
        let bases: Vec<_> = (0..5).map(|device| layout.base(device)).collect();
        assert_eq!(bases, [Some(0), Some(4096), Some(8192), Some(8192), None]);
        assert_eq!(layout.total_bytes(), 8192 + 8192);
    }

    #[test]
    fn a_single_device_starts_at_zero() {
        let layout = VolumeLayout::new(&[100, 5000], VolumeChoice::One(1), 4096).unwrap();
        assert_eq!((layout.base(0), layout.base(1)), (None, Some(0)));
        assert_eq!(layout.total_bytes(), 8192);
        let (op, flags) = (Op::Write, Flags::empty());
        let request = Request { time_ns: 1, offset: 7, bytes: 8, device: 1, op, flags, stream: 0 };
        assert_eq!(layout.place(&request), Some(Request { device: 0, ..request }));
        assert_eq!(layout.place(&Request { device: 0, ..request }), None);
    }

    #[test]
    fn impossible_layouts_are_none() {
        assert_eq!(VolumeLayout::new(&[1], VolumeChoice::One(1), 1), None);
        assert_eq!(VolumeLayout::new(&[u64::MAX], VolumeChoice::All, 4096), None);
        assert_eq!(VolumeLayout::new(&[u64::MAX / 2 + 1; 2], VolumeChoice::All, 1), None);
    }
}
