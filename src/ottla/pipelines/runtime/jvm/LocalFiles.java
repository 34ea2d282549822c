package ottla;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Local files for checkpoints: what Hadoop's own class does, without a process for every file.
 *
 * Where its native library is missing, as in PySpark's package, Hadoop runs chmod for each new file
 * and readlink for each that is renamed: forty processes in a micro-batch. And it writes a checksum
 * beside each file, though Spark writes one of its own. Renames stay atomic: they are the system's.
 */
public final class LocalFiles extends DelegateToFileSystem {
    public LocalFiles(URI uri, Configuration configuration) throws IOException, URISyntaxException {
        super(uri, new Raw(), configuration, "file", false);
    }

    public int getUriDefaultPort() {
        return -1; // files have none
    }

    public boolean isValidName(String name) {
        return true; // the file system itself will say
    }

    public static final class Raw extends RawLocalFileSystem {
        public void setPermission(Path path, FsPermission permission) throws IOException {
            Files.setPosixFilePermissions(
                this.pathToFile(path).toPath(), PosixFilePermissions.fromString(permission.toString()));
        }

        public FileStatus getFileLinkStatus(Path path) throws IOException {
            return this.getFileStatus(path); // a link is what it leads to
        }
    }
}
