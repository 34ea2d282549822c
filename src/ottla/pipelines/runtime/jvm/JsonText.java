package ottla;

import java.io.Serializable;
import java.util.Collections;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * Whether a text that begins with JSON is nothing else: Spark's parser takes the first value and
 * does not look behind it. As an SQL function over bytes: ottla_is_all_json(value).
 *
 * Compiled by Janino, which knows neither type arguments nor lambdas: see compiled.py.
 */
public final class JsonText {
    private JsonText() {}

    public static void register(SparkSession spark) {
        spark.sessionState().functionRegistry().createOrReplaceTempFunction(
            "ottla_is_all_json", new Asking(), "scala_udf");
    }

    /** Of bytes that a parser has read as JSON: is there but white space behind the first value? */
    public static boolean isAll(byte[] text) {
        int depth = 0;
        boolean quoted = false;
        boolean ended = false;
        for (int at = 0; at < text.length; at++) {
            byte one = text[at];
            if (quoted) {
                if (one == '\\') {
                    at++;
                } else if (one == '"') {
                    quoted = false;
                }
            } else if (ended) {
                if (one != ' ' && one != '\n' && one != '\r' && one != '\t') {
                    return false;
                }
            } else if (one == '"') {
                quoted = true;
            } else if (one == '{' || one == '[') {
                depth++;
            } else if (one == '}' || one == ']') {
                depth--;
                ended = depth == 0;
            }
        }
        return true;
    }

    static final class Asking extends AbstractFunction1 implements Serializable {
        public Object apply(Object given) {
            Seq arguments = CollectionConverters.asScala(
                Collections.singletonList(((Seq) given).head())).toList();
            Seq none = CollectionConverters.asScala(Collections.emptyList()).toList();
            return new StaticInvoke(
                JsonText.class, DataTypes.BooleanType, "isAll", arguments, none, true, true, true,
                Option.empty());
        }
    }
}
