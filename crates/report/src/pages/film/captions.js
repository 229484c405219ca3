"use strict";
// What a moment shows, in sentences. Needs no browser.
const filmCaptions = (function () {
  const { READ, SPARE, PROGRAM, ERASE, COPY, MEDIA_PROGRAM, MEDIA_ERASE, MEDIA_COPY, NONE, SYSTEM } = filmFlash;
  const OPS = ["reads", "writes", "trims", "flushes"];
  const EVENTS = {
    4: "The power returns, and the FTL is mounted: it finds out from the flash what it held.",
    5: "The power fails. The map shows what it left on flash.",
    6: "Everything is read and compared.",
    7: "Nobody asks for anything.",
  };
  // Why, if no scene says it.
  const SAYS = [
    "Each page is read from where its newest version is.",
    "Flash cannot be overwritten. The new version of a page goes to an erased page, and the old one becomes stale: a dot.",
    "The host does not need these pages any more. They become stale, and nothing is copied.",
    "All that was answered so far must survive a power cut.",
    "What was in RAM is lost. The spare area of a page says which logical page it holds and how new it is.",
    "The operation under way was cut short, so a page may be torn (a cross) or a block half erased.",
  ];
  const GUEST_SAYS = "What the guest does for it is seen on the chip. Where its pages are, only the guest knows.";
  const CAUSES = {
    host: "for the host",
    rmw: "because the write covers only a part of the page",
    gc: "garbage collection",
    merge: "to make room in the log",
    map: "map in flash",
    log: "sector log",
    wear: "wear levelling",
    meta: "record for a mount",
    media: "failed block",
  };

  const number = (value) => value.toLocaleString("en-US");

  function real(value) {
    if (!Number.isFinite(value)) return "–";
    if (Number.isInteger(value)) return number(value);
    return value.toLocaleString("en-US", { maximumSignificantDigits: 4 });
  }

  // `{copies|copy|copies}` is a number with its noun, `{lbn}` a number.
  function titleOf(film, scene) {
    const kind = film.header.scenes[scene.kind];
    const fill = (_, words) => {
      const [name, one, many] = words.split("|");
      if (name === "name") return kind.name;
      const value = scene[name];
      if (many === undefined) return value === NONE ? "?" : String(value);
      return number(value) + " " + (value === 1 ? one : many);
    };
    const isOfSeveral = scene.lbn === NONE && kind.title.includes(" of LBN {lbn}");
    const template = isOfSeveral ? kind.title.replace(" of LBN {lbn}", "") : kind.title;
    const [name, counts] = template.replace(/\{([^}]*)\}/g, fill).split(": ");
    const isThere = (part) => !part.startsWith("0 ");
    return [name, counts.split(", ").filter(isThere).join(", ")].filter((part) => part !== "").join(": ");
  }

  function pagesOf(first, pages) {
    return pages === 1 ? "LPN " + first : "LPN " + first + " to " + (first + pages - 1);
  }

  function requestOf(film, request) {
    const { requests, spans } = film;
    if (EVENTS[requests.op[request]] !== undefined) return EVENTS[requests.op[request]];
    const parts = [];
    for (let at = requests.spans[request]; at < requests.spans[request + 1]; at++) {
      parts.push(pagesOf(spans.first[at], spans.pages[at]));
    }
    const shown = parts.slice(0, 3).join(", ") + (parts.length > 3 ? " and more" : "");
    const what = OPS[requests.op[request]];
    return "Request " + number(requests.number[request]) + " " + what + (shown === "" ? "" : " " + shown) + ".";
  }

  const place = (flash, ppn) => "block " + Math.floor(ppn / flash.per) + ", page " + (ppn % flash.per);

  const isGuest = (film) => film.header.about.is_guest;

  function ownerName(flash, owner) {
    if (owner === NONE) return "an erased page";
    if (owner === SYSTEM) return isGuest(flash.film) ? "a page" : "a page of the FTL itself";
    const logical = flash.film.header.about.logical_pages;
    return owner >= logical ? "page " + (owner - logical) + " of the map" : "LPN " + owner;
  }

  // The operation that was done last. The flash is at the moment behind it.
  function operationOf(flash) {
    const { steps, requests, header } = flash.film;
    if (flash.done === 0) return requests.op[flash.request] < OPS.length ? "The request arrives." : "";
    const at = requests.steps[flash.request] + flash.done - 1;
    const [kind, where] = [steps.kind[at], steps.place[at]];
    const cause = CAUSES[header.causes[steps.cause[at]]];
    const owner = ownerName(flash, flash.owner[where]);
    switch (kind) {
      case READ: return "Reads " + owner + " from " + place(flash, where) + " (" + cause + ").";
      case SPARE: return "Reads the spare area of " + place(flash, where) + " (" + cause + ").";
      case PROGRAM: return "Programs " + owner + " at " + place(flash, where) + " (" + cause + ").";
      case ERASE: return "Erases block " + where + " (" + cause + ").";
      case COPY:
        return "Copies " + owner + " from " + place(flash, steps.from[at]) + " to " + place(flash, where) +
          " (" + cause + ").";
      case MEDIA_PROGRAM: return "Programs a page below the FTL, or fails to program one (" + cause + ").";
      case MEDIA_ERASE: return "Erases a block in reserve (" + cause + ").";
      case MEDIA_COPY:
        return "Copies a page from " + place(flash, steps.from[at]) + " to a block in reserve (" + cause + ").";
      default: return "";
    }
  }

  // The name of a block's role.
  function roleOf(flash, block) {
    if (flash.filled[block] === 0) return isGuest(flash.film) ? "erased" : "free";
    const name = flash.film.header.roles[flash.role[block]];
    return flash.of[block] === NONE ? name : name + " of " + flash.of[block];
  }

  // A block, and the page in it that the reader points at.
  function blockOf(flash, block, ppn) {
    const valid = flash.validPages(block);
    const stale = flash.filled[block] - valid;
    const erased = flash.per - flash.filled[block];
    const ofScheme = valid + " valid, " + stale + " stale, ";
    const filled = isGuest(flash.film) ? flash.filled[block] + " programmed, " : ofScheme;
    return "Block " + block + ", " + roleOf(flash, block) + ": " + filled + erased + " erased pages; erased " +
      number(flash.wear[block]) + " times." + (ppn === undefined ? "" : pageOf(flash, ppn));
  }

  function pageOf(flash, ppn) {
    const name = " Page " + (ppn % flash.per) + ": ";
    if (flash.owner[ppn] === NONE) return name + "erased.";
    const owner = ownerName(flash, flash.owner[ppn]);
    const state = isGuest(flash.film) ? "" : ["stale", "valid", "torn"][flash.state[ppn]] + ", ";
    // Nobody saw why the older ones were programmed.
    const cause = flash.born[ppn] === 0 ? "before the film" : CAUSES[flash.film.header.causes[flash.cause[ppn]]];
    return name + owner + ", " + state + "programmed (" + cause + ").";
  }

  // Why the scene, or the request, happens.
  function saysOf(film, scene, request) {
    if (scene) return film.header.scenes[scene.kind].says;
    const says = SAYS[film.requests.op[request]] || "";
    return says !== "" && isGuest(film) ? GUEST_SAYS : says;
  }

  // The scene of a moment, or nothing.
  function sceneAt(film, request, done) {
    const { scenes } = film.requests;
    for (let at = scenes[request]; at < scenes[request + 1]; at++) {
      const scene = film.scenes[at];
      if (done > scene.first && done <= scene.first + scene.steps) return scene;
    }
    return undefined;
  }

  return { titleOf, requestOf, operationOf, ownerName, roleOf, blockOf, saysOf, sceneAt, number, real };
})();
