"use strict";
// Reads a film: docs/film.md defines the format. Needs no browser.
const filmFormat = (function () {
  const MAGIC = "ftlfilm1";
  const COPY = 4; // behind read, spare, program, erase
  // Of the media: they count, but no block of the map changes.
  const [MEDIA_PROGRAM, MEDIA_ERASE, MEDIA_COPY] = [5, 6, 7];
  const NONE = 0xffffffff; // the owner of an erased page, and every number that is missing
  const SYSTEM = 0xfffffffe;

  // A column of numbers.
  class Column {
    constructor(bytes) {
      this.bytes = bytes;
      this.at = 0;
    }

    byte() {
      return this.bytes[this.at++];
    }

    number() {
      let byte = this.bytes[this.at++];
      if (byte < 0x80) return byte; // most numbers
      let sum = byte & 0x7f;
      for (let weight = 128; byte & 0x80; weight *= 128) {
        byte = this.bytes[this.at++];
        sum += (byte & 0x7f) * weight;
      }
      return sum;
    }

    signed() {
      return difference(this.number());
    }

    optional() {
      const number = this.number();
      return number === 0 ? NONE : number - 1;
    }

    real() {
      this.view ??= new DataView(this.bytes.buffer, this.bytes.byteOffset, this.bytes.length);
      this.at += 4;
      return this.view.getFloat32(this.at - 4, true);
    }
  }

  function difference(number) {
    return number % 2 === 0 ? number / 2 : -(number + 1) / 2;
  }

  // Owners are near the one that would follow the last owner.
  class Owners {
    constructor(column) {
      this.column = column;
      this.next = 0;
    }

    owner() {
      const number = this.column.number();
      if (number < 2) return number === 0 ? NONE : SYSTEM;
      const owner = this.next + difference(number - 2);
      this.next = owner + 1;
      return owner;
    }
  }

  function text(bytes) {
    if (typeof TextDecoder !== "undefined") return new TextDecoder().decode(bytes);
    let escaped = "";
    for (const byte of bytes) escaped += "%" + byte.toString(16).padStart(2, "0");
    return decodeURIComponent(escaped);
  }

  function head(bytes) {
    if (String.fromCharCode(...bytes.subarray(0, 8)) !== MAGIC) throw new Error("this is no film of ftlab");
    const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true);
    const header = JSON.parse(text(bytes.subarray(12, 12 + length)));
    const columns = {};
    let at = 12 + length;
    for (const [name, size] of header.columns) {
      columns[name] = new Column(bytes.subarray(at, at + size));
      at += size;
    }
    return { header, columns };
  }

  // The flash before each take: the blocks that changed, and their pages.
  function frames(header, columns) {
    const { frame_blocks: list, frame_state, frame_stream, frame_born } = columns;
    const owners = new Owners(columns.frame_owner);
    const per = header.pages_per_block;
    let born = 0;
    return header.takes.map(() => {
      const count = list.number();
      const frame = { blocks: new Uint32Array(count), wear: new Uint32Array(count), role: new Uint8Array(count) };
      frame.of = new Uint32Array(count);
      frame.owner = new Uint32Array(count * per);
      frame.state = new Uint8Array(count * per);
      frame.stream = new Uint8Array(count * per);
      frame.born = new Uint32Array(count * per);
      let next = 0;
      for (let index = 0; index < count; index++) {
        frame.blocks[index] = next + list.number();
        next = frame.blocks[index] + 1;
        frame.wear[index] = list.number();
        frame.role[index] = list.byte();
        frame.of[index] = list.optional();
        for (let page = index * per; page < (index + 1) * per; page++) {
          frame.owner[page] = owners.owner();
          if (frame.owner[page] === NONE) continue;
          frame.state[page] = frame_state.byte();
          frame.stream[page] = frame_stream.byte();
          frame.born[page] = born + frame_born.signed();
          born = frame.born[page] > 0 ? frame.born[page] + 1 : 0;
        }
      }
      return frame;
    });
  }

  // The first of each request's entries in a list, from the numbers of its entries.
  function starts(column, count) {
    const first = new Uint32Array(count + 1);
    for (let index = 0; index < count; index++) first[index + 1] = first[index] + column.number();
    return first;
  }

  function requests(header, columns) {
    const count = header.takes.reduce((sum, take) => sum + take.requests, 0);
    const all = { count, number: new Float64Array(count), op: new Uint8Array(count), take: new Uint32Array(count) };
    all.entered = new Float64Array(count);
    all.free = new Int32Array(count);
    all.gauges = header.gauges.map(() => new Float32Array(count));
    let [index, number] = [0, 0];
    for (const [take, { requests, entered, free_blocks }] of header.takes.entries()) {
      let [sum, free] = [entered, free_blocks];
      for (const end = index + requests; index < end; index++) {
        number += columns.request_number.number();
        sum += columns.request_entered.signed();
        free += columns.request_free.signed();
        all.number[index] = number;
        all.entered[index] = sum;
        all.free[index] = free;
        all.take[index] = take;
        all.op[index] = columns.request_op.byte();
      }
    }
    all.gauges.forEach((gauge, at) => {
      const column = columns["gauge_" + at];
      for (let request = 0; request < count; request++) gauge[request] = column.real();
    });
    for (const list of ["spans", "bulks", "scenes", "corrections", "roles"]) {
      all[list] = starts(columns["request_" + list], count);
    }
    return all;
  }

  function spans(column, count) {
    const all = { first: new Uint32Array(count), pages: new Uint32Array(count), stream: new Uint8Array(count) };
    for (let index = 0, end = 0; index < count; index++) {
      all.first[index] = end + column.signed();
      all.pages[index] = column.number();
      all.stream[index] = column.byte();
      end = all.first[index] + all.pages[index];
    }
    return all;
  }

  function scene(column, request) {
    return {
      request,
      kind: column.number(),
      first: column.number(),
      steps: column.number(),
      reads: column.number(),
      programs: column.number(),
      copies: column.number(),
      erases: column.number(),
      sources: column.number(),
      lbn: column.optional(),
      target: column.optional(),
      victim: column.optional(),
    };
  }

  function scenes(column, requests) {
    const all = [];
    for (let request = 0; request < requests.count; request++) {
      for (let index = requests.scenes[request]; index < requests.scenes[request + 1]; index++) {
        all.push(scene(column, request));
      }
    }
    return all;
  }

  function corrections(column, count) {
    const all = { owner: new Uint32Array(count), place: new Uint32Array(count) };
    for (let index = 0, next = 0; index < count; index++) {
      all.owner[index] = next + column.signed();
      all.place[index] = column.optional();
      next = all.owner[index] + 1;
    }
    return all;
  }

  function roles(column, count) {
    const all = { block: new Uint32Array(count), role: new Uint8Array(count), of: new Uint32Array(count) };
    for (let index = 0; index < count; index++) {
      all.block[index] = column.number();
      all.role[index] = column.byte();
      all.of[index] = column.optional();
    }
    return all;
  }

  // Every operation by itself; a copy is one.
  function steps(header, columns, requests) {
    const count = header.takes.reduce((sum, take) => sum + take.steps, 0);
    const all = { count, kind: new Uint8Array(count), cause: new Uint8Array(count), place: new Uint32Array(count) };
    all.owner = new Uint32Array(count);
    all.from = new Uint32Array(count);
    const first = new Uint32Array(requests.count + 1);
    const owners = new Owners(columns.program_owner);
    const expected = new Array(MEDIA_COPY + 1).fill(0);
    let [at, source] = [0, 0];
    for (let request = 0; request < requests.count; request++) {
      for (let bulk = requests.bulks[request]; bulk < requests.bulks[request + 1]; bulk++) {
        const code = columns.bulk_code.byte();
        const kind = code >> 4;
        const end = at + columns.bulk_count.number();
        let place = expected[kind] + columns.bulk_place.signed();
        for (; at < end; at++, place++) {
          all.kind[at] = kind;
          all.cause[at] = code & 15;
          all.place[at] = place;
          if (kind === 2) all.owner[at] = owners.owner();
          if (kind === COPY || kind === MEDIA_COPY) {
            all.from[at] = source + columns.copy_from.signed();
            source = all.from[at] + 1;
          }
        }
        expected[kind] = place;
      }
      first[request + 1] = at;
    }
    requests.steps = first;
    return all;
  }

  // The film in these bytes, which are no longer compressed.
  function read(bytes) {
    const { header, columns } = head(bytes);
    const film = { header, frames: frames(header, columns), requests: requests(header, columns) };
    const last = (list) => film.requests[list][film.requests.count];
    film.spans = spans(columns.span, last("spans"));
    film.scenes = scenes(columns.scene, film.requests);
    film.corrections = corrections(columns.correction, last("corrections"));
    film.roles = roles(columns.role, last("roles"));
    film.steps = steps(header, columns, film.requests);
    return film;
  }

  return { read, COPY, MEDIA_PROGRAM, MEDIA_ERASE, MEDIA_COPY, NONE, SYSTEM };
})();
