"""Films: what they show, compared with the truth by a second reader and by the page's own."""

PACKAGES = ["ftlab-report --test film"]

FILM, PAGE = "crates/film/src", "crates/report/src/pages/film"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("film-trim-uncorrected", "film: trimmed pages stay valid", f"{FILM}/recorder.rs",
     "request.op == HostOp::Trim);\n", "request.op == HostOp::Flush);\n"),
    ("film-stale-stays-valid", "film: the version before is not superseded by a program", f"{FILM}/picture.rs",
     "        if let Some(owner) = cell.lpn() {\n            self.supersede(owner);\n",
     "        if let Some(owner) = cell.lpn() {\n"),
    ("film-erase-unworn", "film: an erase wears nothing", f"{FILM}/picture.rs",
     "        erased.wear += 1;\n", ""),
    ("film-role-of-erased-kept", "film: the roles are not asked for after an erase", f"{FILM}/recorder.rs",
     "                            changes_roles = true;\n                            self.picture.erase(place);\n",
     "                            self.picture.erase(place);\n"),
    ("film-gap-unframed", "film: behind a gap only new blocks have a frame if the take follows", f"{FILM}/encoding.rs",
     "before.number + 1 == take.number) && !take.is_cut;", "before.number + 2 >= take.number) && !take.is_cut;"),
    ("film-free-blocks-from-start", "film: free blocks count from those before the take", f"{FILM}/encoding.rs",
     "        self.request_free.from_expected(request.free_blocks, self.last.free_blocks);\n        self.last.free_blocks = request.free_blocks;\n",
     "        self.request_free.from_expected(request.free_blocks, self.last.free_blocks);\n"),
    ("film-media-as-ftl", "film: operations of the media change blocks of the FTL", f"{FILM}/header.rs",
     "        cause == Cause::Media || (cause", "        (cause"),
    ("film-wear-as-ftl", "film: moves that level the wear change blocks of the FTL", f"{FILM}/header.rs",
     "cause == Cause::Media || (cause == Cause::Wear && !self.is_guest)", "cause == Cause::Media"),
    ("film-scene-first-target", "film: a scene names the first block that it fills", f"{FILM}/scene.rs",
     "        if self.scene.target != Some(block) {\n", "        if self.scene.target.is_none() {\n"),
    ("film-scene-counts-sources-twice", "film: a source counts as often as it is read", f"{FILM}/scene.rs",
     "                if !self.sources.contains(&from) {\n", "                {\n"),
    ("film-scene-lbn-of-last", "film: a scene of several logical blocks names the last one", f"{FILM}/scene.rs",
     "            _ => SeenPages::Several,\n        };", "            _ => SeenPages::Of(lbn),\n        };"),
    ("film-collections-run-together", "film: two collections in a row are one scene", f"{FILM}/scene.rs",
     "self.scene.erases == 0 && self.scene.victim.is_none_or(|victim| victim == from)", "true"),
    ("film-even-by-interest", "film: takes of two FTLs are chosen by interest", f"{FILM}/cutting.rs",
     "if !self.is_even && !is_first", "if !is_first"),
    ("film-page-media-copy-uncounted", "film, page: copies of the media count as reads only", f"{PAGE}/flash.js",
     "        case MEDIA_COPY:\n          this.count(READ, cause);\n          this.count(PROGRAM, cause);\n",
     "        case MEDIA_COPY:\n          this.count(READ, cause);\n"),
    ("film-page-checkpoint-without-wear", "film, page: a checkpoint does not keep the wear", f"{PAGE}/flash.js",
     '"born", "wear", "role"', '"born", "role"'),
    ("film-page-copy-of-nothing", "film, page: a copy has no owner of its own", f"{PAGE}/flash.js",
     "this.program(place, this.owner[steps.from[at]], cause,", "this.program(place, steps.owner[at], cause,"),
    ("film-page-end-twice-free", "film, page: free blocks are those before the take until it ends", f"{PAGE}/flash.js",
     "      this.free = requests.free[this.request];\n", ""),
]
