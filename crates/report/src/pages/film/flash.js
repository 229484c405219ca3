"use strict";
// The flash at any moment of a film, and its counters. Needs no browser.
//
// A moment is a request and the number of its operations that are done. Going back means going forward from the last
// checkpoint before it.
const filmFlash = (function () {
  const { COPY, MEDIA_PROGRAM, MEDIA_ERASE, MEDIA_COPY, NONE, SYSTEM } = filmFormat;
  const [STALE, VALID] = [0, 1];
  const [READ, SPARE, PROGRAM, ERASE] = [0, 1, 2, 3];
  const CHECKPOINT_BYTES = 48e6; // of all checkpoints together
  const ARRAYS = ["owner", "state", "cause", "stream", "born", "wear", "role", "of", "since", "filled", "newest"];

  class Flash {
    constructor(film) {
      const { header } = film;
      this.film = film;
      this.blocks = header.blocks;
      this.per = header.pages_per_block;
      this.pages = this.blocks * this.per;
      this.causes = header.causes.length;
      this.owner = new Uint32Array(this.pages).fill(NONE);
      for (const name of ["state", "cause", "stream"]) this[name] = new Uint8Array(this.pages);
      this.born = new Uint32Array(this.pages);
      for (const name of ["wear", "of", "since", "filled"]) this[name] = new Uint32Array(this.blocks);
      this.of.fill(NONE);
      this.role = new Uint8Array(this.blocks);
      this.newest = new Uint32Array(owners(film)).fill(NONE);
      this.tally = new Float64Array(header.operations.length * this.causes);
      this.gauges = new Float64Array(header.gauges.length);
      // What changed since somebody looked.
      this.changed = [];
      this.moved = true;
      this.everything = true;
      this.rewind();
      this.checkpoints = new Map();
      const bytes = ARRAYS.reduce((sum, name) => sum + this[name].byteLength, 0);
      const most = Math.max(2, Math.floor(CHECKPOINT_BYTES / bytes));
      this.between = Math.max(4, Math.ceil(film.requests.count / most));
    }

    rewind() {
      this.request = 0; // the request that is shown
      this.done = 0; // how many of its operations are done
      this.begun = false;
      this.ended = false;
      this.programs = 0;
      this.entered = 0;
      this.free = 0;
    }

    steps(request) {
      const { steps } = this.film.requests;
      return steps[request + 1] - steps[request];
    }

    // Goes to the moment at which this number of operations of a request are done.
    seek(request, done) {
      const steps = Math.min(done, this.steps(request));
      if (request < this.request || (request === this.request && steps < this.done)) this.goBack(request);
      else if (request - this.request > this.between) this.goNear(request);
      while (this.request < request) this.endRequest();
      if (!this.begun) this.begin();
      while (this.done < steps) this.step();
      if (this.done === this.steps(request) && !this.ended) this.end();
    }

    goBack(request) {
      const at = this.checkpointBefore(request);
      if (at === undefined) {
        this.owner.fill(NONE);
        this.newest.fill(NONE);
        this.filled.fill(0);
        this.rewind();
      } else {
        this.restore(at);
      }
      this.everything = this.moved = true;
    }

    // Leaps over requests if there is a checkpoint nearer than where we are.
    goNear(request) {
      const at = this.checkpointBefore(request);
      if (at !== undefined && at > this.request) {
        this.restore(at);
        this.everything = this.moved = true;
      }
    }

    checkpointBefore(request) {
      for (let at = request - (request % this.between); at > 0; at -= this.between) {
        if (this.checkpoints.has(at)) return at;
      }
      return undefined;
    }

    restore(at) {
      const saved = this.checkpoints.get(at);
      for (const name of [...ARRAYS, "tally", "gauges"]) this[name].set(saved[name]);
      Object.assign(this, saved.numbers, { request: at, done: 0, begun: false, ended: false });
    }

    save() {
      const { programs, entered, free } = this;
      const saved = { numbers: { programs, entered, free } };
      for (const name of [...ARRAYS, "tally", "gauges"]) saved[name] = this[name].slice();
      this.checkpoints.set(this.request, saved);
    }

    // ---- Requests ------------------------------------------------------------------------------

    begin() {
      const { requests, header, frames } = this.film;
      const take = requests.take[this.request];
      const isFirst = this.request === 0 || requests.take[this.request - 1] !== take;
      if (isFirst) this.beginTake(header.takes[take], frames[take]);
      this.pending = this.rolesToCome();
      this.begun = true;
    }

    beginTake(take, frame) {
      frame.blocks.forEach((block) => this.forget(block));
      frame.blocks.forEach((block, index) => this.frameBlock(block, frame, index));
      take.tally.forEach((counts, op) => this.tally.set(counts, op * this.causes));
      this.gauges.set(take.gauges);
      this.programs = take.programs;
      this.entered = take.entered;
      this.free = take.free_blocks;
      if (frame.blocks.length > 0) this.everything = this.moved = true;
    }

    // Nothing is known of the pages of a block any more.
    forget(block) {
      for (let ppn = block * this.per; ppn < (block + 1) * this.per; ppn++) {
        const owner = this.owner[ppn];
        if (owner < SYSTEM && this.newest[owner] === ppn) this.newest[owner] = NONE;
      }
    }

    frameBlock(block, frame, index) {
      [this.wear[block], this.role[block], this.of[block]] = [frame.wear[index], frame.role[index], frame.of[index]];
      this.filled[block] = 0;
      for (let offset = 0; offset < this.per; offset++) {
        const [ppn, page] = [block * this.per + offset, index * this.per + offset];
        const owner = frame.owner[page];
        this.owner[ppn] = owner;
        if (owner === NONE) continue;
        this.filled[block] += 1;
        this.state[ppn] = frame.state[page] & 3;
        this.cause[ppn] = frame.state[page] >> 2;
        this.stream[ppn] = frame.stream[page];
        this.born[ppn] = frame.born[page];
        if (owner < SYSTEM && this.state[ppn] === VALID) this.newest[owner] = ppn;
      }
    }

    // Roles at the end of the request: a block that is opened has its role from its first page on.
    rolesToCome() {
      const { requests, roles } = this.film;
      const coming = new Map();
      for (let at = requests.roles[this.request]; at < requests.roles[this.request + 1]; at++) {
        coming.set(roles.block[at], at);
      }
      return coming;
    }

    takeRole(block, at) {
      const { roles } = this.film;
      if (this.role[block] === roles.role[at] && this.of[block] === roles.of[at]) return;
      [this.role[block], this.of[block]] = [roles.role[at], roles.of[at]];
      this.since[block] = this.programs;
      this.moved = true;
    }

    end() {
      const { requests, corrections } = this.film;
      for (let at = requests.corrections[this.request]; at < requests.corrections[this.request + 1]; at++) {
        this.point(corrections.owner[at], corrections.place[at]);
      }
      for (const [block, at] of this.pending) this.takeRole(block, at);
      this.entered = requests.entered[this.request];
      this.free = requests.free[this.request];
      requests.gauges.forEach((gauge, index) => { this.gauges[index] = gauge[this.request]; });
      this.ended = true;
    }

    endRequest() {
      if (!this.begun) this.begin();
      for (const steps = this.steps(this.request); this.done < steps;) this.step();
      if (!this.ended) this.end();
      this.request += 1;
      [this.done, this.begun, this.ended] = [0, false, false];
      if (this.request % this.between === 0 && !this.checkpoints.has(this.request)) this.save();
    }

    // ---- Operations ----------------------------------------------------------------------------

    step() {
      const { steps, requests } = this.film;
      const at = requests.steps[this.request] + this.done;
      const [kind, cause, place] = [steps.kind[at], steps.cause[at], steps.place[at]];
      this.done += 1;
      switch (kind) {
        case PROGRAM: {
          const span = requests.spans[this.request];
          const hasSpan = span < requests.spans[this.request + 1];
          this.program(place, steps.owner[at], cause, hasSpan ? this.film.spans.stream[span] : 0);
          break;
        }
        case COPY:
          this.count(READ, cause);
          this.program(place, this.owner[steps.from[at]], cause, this.stream[steps.from[at]]);
          break;
        case ERASE:
          this.count(ERASE, cause);
          this.erase(place);
          break;
        case MEDIA_PROGRAM:
          this.count(PROGRAM, cause);
          break;
        case MEDIA_ERASE:
          this.count(ERASE, cause);
          break;
        case MEDIA_COPY:
          this.count(READ, cause);
          this.count(PROGRAM, cause);
          break;
        default:
          this.count(kind, cause);
      }
    }

    count(op, cause) {
      this.tally[op * this.causes + cause] += 1;
    }

    program(ppn, owner, cause, stream) {
      this.count(PROGRAM, cause);
      this.programs += 1;
      const block = (ppn / this.per) | 0;
      if (this.filled[block] === 0) {
        this.since[block] = this.programs;
        this.moved = true;
        if (this.pending.has(block)) this.takeRole(block, this.pending.get(block));
      }
      if (this.owner[ppn] === NONE) this.filled[block] += 1;
      this.owner[ppn] = owner;
      this.state[ppn] = VALID;
      this.cause[ppn] = cause;
      this.stream[ppn] = stream;
      this.born[ppn] = this.programs;
      this.changed.push(ppn);
      if (owner < SYSTEM) this.point(owner, ppn);
    }

    point(owner, ppn) {
      const old = this.newest[owner];
      if (old !== NONE && old !== ppn) {
        this.state[old] = STALE;
        this.changed.push(old);
      }
      this.newest[owner] = ppn;
      if (ppn !== NONE) {
        this.state[ppn] = VALID;
        this.changed.push(ppn);
      }
    }

    erase(block) {
      this.forget(block);
      for (let ppn = block * this.per; ppn < (block + 1) * this.per; ppn++) {
        this.owner[ppn] = NONE;
        this.changed.push(ppn);
      }
      this.wear[block] += 1;
      this.filled[block] = 0;
      [this.role[block], this.of[block]] = [0, NONE];
      this.moved = true;
    }

    // ---- Figures -------------------------------------------------------------------------------

    total(op) {
      let sum = 0;
      for (let cause = 0; cause < this.causes; cause++) sum += this.tally[op * this.causes + cause];
      return sum;
    }

    // The figures of the moment. Pages that the host wrote, free blocks and gauges are those at the end of the last
    // request that has ended.
    figures() {
      const [reads, spareReads, programs, erases] = [READ, SPARE, PROGRAM, ERASE].map((op) => this.total(op));
      return { reads, spareReads, programs, erases, entered: this.entered, free: this.free };
    }

    validPages(block) {
      let valid = 0;
      for (let ppn = block * this.per; ppn < (block + 1) * this.per; ppn++) {
        if (this.owner[ppn] !== NONE && this.state[ppn] === VALID) valid += 1;
      }
      return valid;
    }
  }

  function owners(film) {
    let most = film.header.about.logical_pages;
    const see = (list) => list.forEach((owner) => { if (owner < SYSTEM && owner >= most) most = owner + 1; });
    film.frames.forEach((frame) => see(frame.owner));
    see(film.steps.owner);
    see(film.corrections.owner);
    return most;
  }

  // Whether an operation of this kind programs a page.
  const isProgram = (kind) => [PROGRAM, COPY, MEDIA_PROGRAM, MEDIA_COPY].includes(kind);

  return {
    Flash, READ, SPARE, PROGRAM, ERASE, COPY, MEDIA_PROGRAM, MEDIA_ERASE, MEDIA_COPY, NONE, SYSTEM, STALE, VALID, isProgram,
  };
})();
