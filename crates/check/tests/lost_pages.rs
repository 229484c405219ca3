//! FTLs that lie about pages that cannot be read, each in one way. The checker must see it, and
//! must find nothing in the FTL that they are made of.

use core::ops::Range;
use std::sync::LazyLock;

use check::case::Case;
use check::conformance;
use check::device_model::DeviceModel;
use check::finding::Defect;
use check::subject::Subject;
use ftl::contract::facets::{Facet, FacetKind};
use ftl::{
    Base, Durability, Error, Extent, Ftl, MountConfig, Report, Result, Run, SCHEMES, Scheme, Span,
    Violation,
};
use nand::{Lpn, Nand, Ppn, Sink};
use spec::{Kind, Param};

/// The lies; the first one is none.
const LIES: &[&str] = &[
    "none",
    "lost-page-reads-empty",
    "next-page-refused-too",
    "whole-writes-refused",
    "other-parts-refused",
    "half-writes-unmountable",
    "half-writes-wear-out",
    "flush-refused",
    "refused-writes-empty-pages",
];

/// `page` that lies.
static LIAR: LazyLock<Scheme> = LazyLock::new(|| {
    let page = page();
    let lie =
        Param { name: "lie", kind: Kind::Choice(LIES), default: "none", unit: "", doc: "the lie" };
    let params = [page.params, &[lie]].concat();
    Scheme { name: "liar", params: params.leak(), mount, ..*page }
});

fn page() -> &'static Scheme {
    SCHEMES.iter().find(|scheme| scheme.name == "page").unwrap()
}

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    let (honest, lie) = ((page().mount)(nand, device)?, device.params.choice("lie"));
    Ok(Box::new(Liar { honest, lie, lost: None }))
}

struct Liar {
    honest: Box<dyn Ftl>,
    lie: &'static str,
    /// A page that could not be read.
    lost: Option<Lpn>,
}

impl Liar {
    fn lies(&self, lie: &str) -> bool {
        self.lie == lie
    }

    /// The error with which a page is refused that is lost.
    fn refusal(lpn: Lpn) -> Error {
        nand::Error::Unreadable(Ppn(lpn.0)).into()
    }
}

impl Base for Liar {
    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        if let Some(lost) = self.lost
            && self.lies("next-page-refused-too")
            && (run.first.0..run.first.0 + run.pages).contains(&(lost.0 + 1))
        {
            return Err(Liar::refusal(lost.plus(1)));
        }
        match self.honest.base_mut().read(nand, run, sink) {
            Err(error) if error.is_of_request() => {
                if run.pages == 1 {
                    self.lost = Some(run.first);
                    if self.lies("lost-page-reads-empty") {
                        return Ok(());
                    }
                }
                Err(error)
            }
            done => done,
        }
    }

    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        self.honest.base_mut().trim(nand, first, pages)
    }

    fn flush(&mut self, nand: &mut Nand, only: Option<&Run>) -> Result<()> {
        match self.lost.filter(|_| self.lies("flush-refused")) {
            Some(lost) => Err(Error::Lost(lost)),
            None => self.honest.base_mut().flush(nand, only),
        }
    }

    fn prefetch(&self, spans: &[Span], read_from: Option<&Nand>) {
        self.honest.base().prefetch(spans, read_from);
    }

    fn place(&self, nand: &Nand, lpn: Lpn) -> Option<Ppn> {
        self.honest.base().place(nand, lpn)
    }

    fn extent(&self, lpns: Range<u32>) -> Extent {
        self.honest.base().extent(lpns)
    }

    fn facet(&mut self, kind: FacetKind) -> Option<Facet<'_>> {
        self.honest.facet(kind)
    }
}

impl Ftl for Liar {
    ftl::base_is!(self);

    fn write(&mut self, nand: &mut Nand, run: &Run, next: &[Span]) -> Result<usize> {
        let full = nand.geometry().full_mask();
        let is_whole = (0..run.pages).all(|index| run.mask(index, full) == full);
        let touches = |lpn: Lpn| (run.first.0..run.first.0 + run.pages).contains(&lpn.0);
        if let Some(lost) = self.lost {
            let refuses = match self.lie {
                "whole-writes-refused" => is_whole && run.pages == 1 && touches(lost),
                "other-parts-refused" => !is_whole && run.pages == 1 && !touches(lost),
                _ => false,
            };
            if refuses {
                return Err(Liar::refusal(lost));
            }
        }
        match self.honest.write(nand, run, next) {
            Err(error) if error.is_of_request() => {
                self.lost = Some(run.first);
                match self.lie {
                    "half-writes-unmountable" => Err(Error::Unmountable("a page is lost".into())),
                    "half-writes-wear-out" => Err(Error::ReadOnly),
                    "refused-writes-empty-pages" => {
                        self.honest.base_mut().trim(nand, run.first, run.pages)?;
                        Err(error)
                    }
                    _ => Err(error),
                }
            }
            done => done,
        }
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        self.honest.audit(nand)
    }

    fn report(&self) -> Report {
        self.honest.report()
    }

    fn reset_report(&mut self) {
        self.honest.reset_report();
    }
}

/// What the checker finds in this liar on devices that lose a page, each a later one; of several
/// defects the first.
fn found_in(lie: &str) -> Option<(Defect, String)> {
    let liar = Subject::of(&LIAR, &[("lie".to_owned(), lie.to_owned())]).unwrap();
    (1..24).find_map(|lost_page| {
        let spec = format!("tiny:reserve=24,lost_page={lost_page}");
        let model = DeviceModel::from_spec(&spec).unwrap();
        ["partial", "random", "forced"].into_iter().find_map(|workload| {
            let case = Case::new(&liar, &model, workload, 1, Durability::Full).unwrap();
            let failed = conformance::check(&case).err()?;
            Some((failed.finding.defect, failed.to_string()))
        })
    })
}

#[test]
fn every_lie_about_a_lost_page_is_seen() {
    let expected = [
        ("none", None),
        ("lost-page-reads-empty", Some(Defect::Lost)),
        ("next-page-refused-too", Some(Defect::Unreadable)),
        ("whole-writes-refused", Some(Defect::Unreadable)),
        ("other-parts-refused", Some(Defect::Unreadable)),
        ("half-writes-unmountable", Some(Defect::Refused)),
        ("half-writes-wear-out", Some(Defect::Refused)),
        ("flush-refused", Some(Defect::Refused)),
        ("refused-writes-empty-pages", Some(Defect::Lost)),
    ];
    let found = LIES.iter().map(|&lie| {
        let found = found_in(lie);
        println!("{lie}: {found:?}");
        (lie, found.map(|(defect, _)| defect))
    });
    assert_eq!(found.collect::<Vec<_>>(), expected);
}
