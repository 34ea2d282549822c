package ottla;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;
import org.apache.spark.unsafe.Platform;

/**
 * Checkpoints in a store of objects, which knows no renames: each file is one object, put at its end.
 *
 * Spark's own way writes beside and renames, which such a store does by copying and deleting: a kill
 * in between leaves either, and of two writers the later wins. An object is there when it is whole.
 * Where a file must not be there yet, the store itself refuses the second one (S3's If-None-Match):
 * of two drivers that both believe that they are the one, one alone can begin a batch.
 */
public final class ObjectCheckpoints extends FileSystemBasedCheckpointFileManager {
    private static final String IF_NONE = "fs.option.create.conditional.overwrite";
    private static final String WITHOUT_PROBES = "fs.s3a.create.performance";
    private final FileSystem files;

    public ObjectCheckpoints(Path path, Configuration configuration) throws IOException {
        super(path, configuration);
        this.files = path.getFileSystem(configuration);
    }

    public CheckpointFileManager.CancellableFSDataOutputStream createAtomic(
        Path path, boolean overwrite) {
        try {
            FSDataOutputStreamBuilder builder = this.files.createFile(path);
            builder.recursive();
            builder.overwrite(overwrite);
            builder.opt(overwrite ? WITHOUT_PROBES : IF_NONE, true);
            return new Whole(this.files, path, (FSDataOutputStream) builder.build(), overwrite);
        } catch (IOException error) {
            Platform.throwException(error); // Scala's interface declares none, and lets all through
            return null;
        }
    }

    /** What is written is put when it is closed, or never. */
    public static final class Whole extends CheckpointFileManager.CancellableFSDataOutputStream {
        private final FileSystem files;
        private final Path path;
        private final FSDataOutputStream stream;
        private final boolean overwrite;
        private boolean ended;

        Whole(FileSystem files, Path path, FSDataOutputStream stream, boolean overwrite) {
            super(stream);
            this.files = files;
            this.path = path;
            this.stream = stream;
            this.overwrite = overwrite;
        }

        public synchronized void close() throws IOException {
            if (this.ended) {
                return;
            }
            this.ended = true;
            try {
                this.stream.close();
            } catch (IOException error) {
                if (!this.overwrite && this.files.exists(this.path)) {
                    FileAlreadyExistsException there =
                        new FileAlreadyExistsException("Somebody else has written " + this.path);
                    there.initCause(error);
                    throw there;
                }
                throw error;
            }
        }

        public synchronized void cancel() {
            if (this.ended) {
                return;
            }
            this.ended = true;
            this.stream.abort();
        }
    }
}
