/* Train.java - one epoch in Java: batches/s, the mean of the images, how many labels there are.
 *
 *     train SPEC_OR_NAME [GROUP] [--hash]
 *
 * An existing file or folder, or text that begins with '{', is opened: an engine is started for this program
 * alone. Anything else is the name of a running engine. --hash prints "TICKET HASH" for each batch, see
 * examples/README.md. Needs JNA (Debian: libjna-java), and Java 11 or newer. The interface Spdl says what spdl.h says;
 * a Batch is closed by the try that it stands in.
 *
 *     javac -cp /usr/share/java/jna.jar Train.java
 *     java -cp /usr/share/java/jna.jar:. Train ...       # -Djna.library.path=DIR where the linker does not find libspdl
 */
import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import com.sun.jna.Structure.FieldOrder;
import com.sun.jna.ptr.PointerByReference;

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.zip.CRC32;

public final class Train {
    interface Spdl extends Library {
        Spdl C = Native.load("spdl", Spdl.class, Map.of(Library.OPTION_STRING_ENCODING, "UTF-8"));
        int OK = 0, TIMEOUT = 1;
        int ANY_LANE = -1;
        byte INT = 0, UINT = 1, FLOAT = 2;

        String spdl_last_error();
        int spdl_open(String spec, OpenOpts opts, PointerByReference out);
        int spdl_attach(String name, AttachOpts opts, PointerByReference out);
        int spdl_detach(Pointer reader);
        int spdl_acquire(Pointer reader, long timeoutNs, RawBatch out);
        int spdl_release(Pointer reader, RawBatch batch);
        int spdl_n_tensors(Pointer reader);
        int spdl_tensor_index(Pointer reader, String name);
        int spdl_batch_tensor(Pointer reader, RawBatch batch, int i, Tensor out);

        @FieldOrder({"structSize", "flags", "group", "lane", "maxLeases", "timeoutNs", "client"})
        class AttachOpts extends Structure {
            public int structSize = size(), flags;
            public String group;
            public int lane = Spdl.ANY_LANE, maxLeases;
            public long timeoutNs;
            public String client;
        }

        @FieldOrder({"structSize", "form", "attach", "engine", "args", "state"})
        class OpenOpts extends Structure {
            public int structSize, form;
            public AttachOpts attach = new AttachOpts();
            public Pointer engine, args, state;
        }

        @FieldOrder({"structSize", "rows", "ticket", "epoch", "step", "lane", "attempts", "flags", "nBad", "hash", "fetchedNs",
                "decodedNs", "publishedNs", "data", "dataBytes", "token", "slot", "reserved"})
        class RawBatch extends Structure {
            public int structSize = size(), rows;
            public long ticket, epoch, step;
            public int lane, attempts, flags, nBad;
            public long hash, fetchedNs, decodedNs, publishedNs;
            public Pointer data;
            public long dataBytes, token;
            public int slot, reserved;
        }

        @FieldOrder({"structSize", "kind", "name", "data", "bytes", "role", "dtypeCode", "dtypeBits", "dtypeLanes", "ndim", "axes",
                "shape", "strides", "offsets", "deviceType", "deviceId"})
        class Tensor extends Structure {
            public int structSize, kind;
            public String name;
            public Pointer data;
            public long bytes;
            public int role;
            public byte dtypeCode, dtypeBits;
            public short dtypeLanes;
            public int ndim, axes;
            public long[] shape = new long[8], strides = new long[8];
            public Pointer offsets;
            public int deviceType, deviceId;

            public Tensor() {
                structSize = size();
            }

            /** How many there are. Where rows are padded there is more memory: what lies around them is zero. */
            long elements() {
                long n = 1;
                for (int i = 0; i < ndim; i++) n *= shape[i];
                return n;
            }

            boolean is(byte code, int bits) {
                return dtypeCode == code && dtypeBits == bits;
            }

            /** A view of the slot, good until the batch is closed. A ByteBuffer has 2 GiB at most. */
            ByteBuffer values() {
                if (bytes > Integer.MAX_VALUE) throw new IllegalStateException(name + ": " + bytes + " bytes, a ByteBuffer holds 2 GiB");
                return bytes == 0 ? ByteBuffer.allocate(0) : data.getByteBuffer(0, bytes).order(ByteOrder.LITTLE_ENDIAN);
            }
        }
    }

    static final class Reader implements AutoCloseable {
        private Pointer pointer; // null once closed, which every call refuses

        Reader(String what, String group) {
            Spdl.OpenOpts opts = new Spdl.OpenOpts();
            opts.structSize = opts.size();
            opts.attach.group = group;
            opts.attach.maxLeases = 1; // each batch is released before the next is asked for
            opts.attach.client = "java";
            PointerByReference out = new PointerByReference();
            boolean open = what.startsWith("{") || new File(what).exists();
            int status = open ? Spdl.C.spdl_open(what, opts, out) : Spdl.C.spdl_attach(what, opts.attach, out);
            if (status != Spdl.OK) throw lastError();
            pointer = out.getValue();
        }

        /** The next batch; null at the end of the epoch. No interrupt reaches a call into C, so it is looked after ten times a second. */
        Batch next() throws InterruptedException {
            Spdl.RawBatch raw = new Spdl.RawBatch();
            int status = Spdl.TIMEOUT;
            while (status == Spdl.TIMEOUT) {
                if (Thread.interrupted()) throw new InterruptedException("interrupted while it waited for a batch");
                status = Spdl.C.spdl_acquire(pointer, 100_000_000, raw);
            }
            if (status < 0) throw lastError();
            return status == Spdl.OK ? new Batch(this, raw) : null;
        }

        @Override
        public void close() {
            Pointer open = pointer;
            pointer = null;
            Spdl.C.spdl_detach(open);
        }
    }

    static final class Batch implements AutoCloseable {
        final Reader reader;
        final Spdl.RawBatch raw;

        Batch(Reader reader, Spdl.RawBatch raw) {
            this.reader = reader;
            this.raw = raw;
        }

        Spdl.Tensor tensor(int i) {
            Spdl.Tensor t = new Spdl.Tensor();
            if (Spdl.C.spdl_batch_tensor(reader.pointer, raw, i, t) != Spdl.OK) throw lastError();
            return t;
        }

        /** null where the ring has none of that name. */
        Spdl.Tensor tensor(String name) {
            int i = Spdl.C.spdl_tensor_index(reader.pointer, name);
            return i < 0 ? null : tensor(i);
        }

        long hash() {
            CRC32 crc = new CRC32();
            crc.update(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(raw.rows).flip());
            for (int i = 0; i < Spdl.C.spdl_n_tensors(reader.pointer); i++) {
                Spdl.Tensor t = tensor(i);
                crc.update(t.values());
                if (t.offsets != null) crc.update(t.offsets.getByteBuffer(0, 8L * (raw.rows + 1)));
            }
            return crc.getValue();
        }

        @Override
        public void close() {
            Spdl.C.spdl_release(reader.pointer, raw);
        }
    }

    private long batches, rows, elements;
    private double sum; // of image elements
    private final Set<Long> labels = new TreeSet<>();

    private void train(Batch batch) {
        Spdl.Tensor image = batch.tensor("image");
        if (image != null && image.is(Spdl.UINT, 8)) {
            ByteBuffer pixels = image.values();
            elements += image.elements();
            long total = 0;
            while (pixels.hasRemaining()) total += pixels.get() & 255;
            sum += total;
        } else if (image != null && image.is(Spdl.FLOAT, 32)) {
            ByteBuffer pixels = image.values();
            elements += image.elements();
            while (pixels.hasRemaining()) sum += pixels.getFloat();
        }
        Spdl.Tensor label = batch.tensor("label");
        if (label != null && label.is(Spdl.INT, 64) && label.ndim == 1) {
            ByteBuffer each = label.values();
            while (each.hasRemaining()) labels.add(each.getLong());
            labels.remove(-1L); // the sample has none
        }
        batches++;
        rows += batch.raw.rows;
    }

    private void run(String what, String group, boolean hash) throws InterruptedException {
        try (Reader reader = new Reader(what, group)) {
            long start = System.nanoTime();
            while (true) {
                try (Batch batch = reader.next()) {
                    if (batch == null) break;
                    if (hash) System.out.printf("%s %08x%n", Long.toUnsignedString(batch.raw.ticket), batch.hash());
                    train(batch);
                }
            }
            double seconds = 1e-9 * (System.nanoTime() - start);
            System.out.printf(Locale.ROOT, "%s, %s, %.1f batches/s; mean of image %.4f; %s%n", counted(batches, "batch", "batches"),
                    counted(rows, "row", "rows"), batches / seconds, elements > 0 ? sum / elements : 0.0,
                    counted(labels.size(), "label", "labels"));
        }
    }

    private static String counted(long n, String one, String more) {
        return n + " " + (n == 1 ? one : more);
    }

    /** The text of this thread's last failed call. */
    private static IllegalStateException lastError() {
        return new IllegalStateException(Spdl.C.spdl_last_error());
    }

    public static void main(String[] args) {
        List<String> words = new ArrayList<>();
        boolean hash = false, wrong = false;
        for (String a : args) {
            if (a.equals("--hash")) hash = true;
            else if (a.startsWith("-")) wrong = true;
            else words.add(a);
        }
        if (wrong || words.isEmpty() || words.size() > 2) {
            System.err.println("usage: train SPEC_OR_NAME [GROUP] [--hash]");
            System.exit(2);
        }
        try {
            new Train().run(words.get(0), words.size() > 1 ? words.get(1) : null, hash);
        } catch (IllegalStateException | InterruptedException e) {
            System.err.println("train: " + e.getMessage());
            System.exit(1);
        }
    }
}
