// train.mjs - one epoch in Node.js: batches/s, the mean of the images, how many labels there are.
//
//     train.mjs SPEC_OR_NAME [GROUP] [--hash]
//
// An existing file or folder, or text that begins with '{', is opened: an engine is started for this program
// alone. Anything else is the name of a running engine. --hash prints "TICKET HASH" for each batch, see
// examples/README.md. Needs koffi (`npm install` here), and Node.js 18 or newer. The calls are made on this
// thread, which waits in them: a server does so in a worker thread.
//
//     SPDL_LIBRARY=/usr/local/lib/libspdl.so node train.mjs ...       # where the linker finds it, nothing
import fs from "node:fs";
import process from "node:process";
import koffi from "koffi";

const lib = koffi.load(process.env.SPDL_LIBRARY || "libspdl.so.0");
const OK = 0, TIMEOUT = 1, ANY_LANE = -1;
const INT = 0, UINT = 1, FLOAT = 2;

const Reader = koffi.opaque("spdl_reader");
const AttachOpts = koffi.struct("spdl_attach_opts", {
  struct_size: "uint32_t", flags: "uint32_t", group: "const char *", lane: "int32_t", max_leases: "uint32_t",
  timeout_ns: "int64_t", client: "const char *",
});
const OpenOpts = koffi.struct("spdl_open_opts", {
  struct_size: "uint32_t", form: "uint32_t", attach: AttachOpts, engine: "const char *", args: "void *", state: "const char *",
});
const Batch = koffi.struct("spdl_batch", {
  struct_size: "uint32_t", rows: "uint32_t", ticket: "uint64_t", epoch: "uint64_t", step: "uint64_t", lane: "uint32_t",
  attempts: "uint32_t", flags: "uint32_t", n_bad: "uint32_t", hash: "uint64_t", fetched_ns: "uint64_t", decoded_ns: "uint64_t",
  published_ns: "uint64_t", data: "void *", data_bytes: "uint64_t", token: "uint64_t", slot: "uint32_t", reserved: "uint32_t",
});
const Tensor = koffi.struct("spdl_tensor", {
  struct_size: "uint32_t", kind: "uint32_t", name: "const char *", data: "void *", bytes: "uint64_t", role: "uint32_t",
  dtype_code: "uint8_t", dtype_bits: "uint8_t", dtype_lanes: "uint16_t", ndim: "uint32_t", axes: "uint32_t",
  shape: koffi.array("int64_t", 8), strides: koffi.array("int64_t", 8), offsets: "void *", device_type: "int32_t",
  device_id: "int32_t",
});

const c = {
  lastError: lib.func("const char *spdl_last_error()"),
  open: lib.func("int spdl_open(const char *spec, const spdl_open_opts *opts, _Out_ spdl_reader **out)"),
  attach: lib.func("int spdl_attach(const char *name, const spdl_attach_opts *opts, _Out_ spdl_reader **out)"),
  detach: lib.func("int spdl_detach(spdl_reader *reader)"),
  acquire: lib.func("int spdl_acquire(spdl_reader *reader, int64_t timeout_ns, _Inout_ spdl_batch *out)"),
  release: lib.func("int spdl_release(spdl_reader *reader, const spdl_batch *batch)"),
  nTensors: lib.func("uint32_t spdl_n_tensors(const spdl_reader *reader)"),
  tensorIndex: lib.func("int32_t spdl_tensor_index(const spdl_reader *reader, const char *name)"),
  tensor: lib.func("int spdl_batch_tensor(spdl_reader *reader, const spdl_batch *batch, uint32_t i, _Inout_ spdl_tensor *out)"),
};

function check(status) {
  if (status < 0) throw new Error(c.lastError());
  return status;
}

// Waits for the next batch in pieces of 100 ms: of a worker thread process.exit() waits for the call that it is in.
function acquire(reader, batch) {
  for (;;) {
    const status = check(c.acquire(reader, 100_000_000, batch));
    if (status !== TIMEOUT) return status;
  }
}

function openOrAttach(what, group) {
  const attach = {
    struct_size: koffi.sizeof(AttachOpts), lane: ANY_LANE, group, client: "node",
    max_leases: 1, // each batch is released before the next is asked for
  };
  const out = [null];
  if (what.startsWith("{") || fs.existsSync(what)) check(c.open(what, { struct_size: koffi.sizeof(OpenOpts), attach }, out));
  else check(c.attach(what, attach, out));
  return out[0];
}

// A tensor's values as they lie in the slot, as an array of that type: good until the batch is released.
function values(tensor, Type) {
  const n = Number(tensor.bytes);
  return n ? new Type(koffi.view(tensor.data, n)) : new Type();
}

function tensorAt(reader, batch, i) {
  const tensor = { struct_size: koffi.sizeof(Tensor), shape: Array(8).fill(0), strides: Array(8).fill(0) };
  check(c.tensor(reader, batch, i, tensor));
  return tensor;
}

function named(reader, batch, name) {
  const i = c.tensorIndex(reader, name);
  return i < 0 ? undefined : tensorAt(reader, batch, i);
}

const table = new Uint32Array(256).map((_, c) => {
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});

// The CRC-32 of zlib, going on from crc; newer Node.js has one in node:zlib.
function crc32(bytes, crc = 0) {
  crc = ~crc;
  for (const b of bytes) crc = table[(crc ^ b) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

function hash(reader, batch) {
  let crc = crc32(new Uint8Array(new Uint32Array([batch.rows]).buffer));
  for (let i = 0; i < c.nTensors(reader); i++) {
    const tensor = tensorAt(reader, batch, i);
    crc = crc32(values(tensor, Uint8Array), crc);
    if (tensor.offsets) crc = crc32(new Uint8Array(koffi.view(tensor.offsets, 8 * (batch.rows + 1))), crc);
  }
  return crc;
}

class Totals {
  batches = 0;
  rows = 0;
  elements = 0;
  sum = 0; // of image elements
  labels = new Set();

  train(reader, batch) {
    const image = named(reader, batch, "image");
    const type = image && { [`${UINT} 8`]: Uint8Array, [`${FLOAT} 32`]: Float32Array }[`${image.dtype_code} ${image.dtype_bits}`];
    if (type) {
      const pixels = values(image, type);
      for (const v of pixels) this.sum += v;
      // Where rows are padded there is more memory than elements: what lies around them is zero.
      this.elements += image.shape.slice(0, image.ndim).reduce((n, side) => n * Number(side), 1);
    }
    const label = named(reader, batch, "label");
    if (label && label.dtype_code === INT && label.dtype_bits === 64 && label.ndim === 1) {
      for (const l of values(label, BigInt64Array)) if (l !== -1n) this.labels.add(l); // -1: the sample has none
    }
    this.batches++;
    this.rows += batch.rows;
  }
}

const counted = (n, one, more) => `${n} ${n === 1 ? one : more}`;

function run(what, group, withHash) {
  const reader = openOrAttach(what, group);
  try {
    const all = new Totals(), start = process.hrtime.bigint(), batch = { struct_size: koffi.sizeof(Batch) };
    while (acquire(reader, batch) === OK) {
      if (withHash) console.log(`${batch.ticket} ${hash(reader, batch).toString(16).padStart(8, "0")}`);
      all.train(reader, batch);
      c.release(reader, batch);
    }
    const rate = all.batches / (1e-9 * Number(process.hrtime.bigint() - start));
    const mean = all.elements ? all.sum / all.elements : 0;
    console.log(`${counted(all.batches, "batch", "batches")}, ${counted(all.rows, "row", "rows")}, ${rate.toFixed(1)} batches/s; ` +
      `mean of image ${mean.toFixed(4)}; ${counted(all.labels.size, "label", "labels")}`);
  } finally {
    c.detach(reader);
  }
}

const words = process.argv.slice(2).filter((a) => !a.startsWith("-"));
const flags = process.argv.slice(2).filter((a) => a.startsWith("-"));
if (words.length < 1 || words.length > 2 || flags.some((f) => f !== "--hash")) {
  console.error("usage: train.mjs SPEC_OR_NAME [GROUP] [--hash]");
  process.exit(2);
}
try {
  run(words[0], words[1], flags.length > 0);
} catch (e) {
  console.error(`train: ${e.message}`);
  process.exitCode = 1; // and not exit(), which loses what a pipe has not taken yet
}
