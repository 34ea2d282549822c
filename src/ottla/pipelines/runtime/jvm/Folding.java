package ottla;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.InterpretedMutableProjection;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Spark's aggregates over the elements of an array: the same functions, types and digits as in a
 * group, for windows that Spark does not know.
 *
 * Compiled by Janino, which knows neither type arguments nor lambdas: see compiled.py.
 */
public final class Folding implements Serializable {
    private final Fold[] folds;

    Folding(Fold[] folds) {
        this.folds = folds;
    }

    /** `rows`, an array of `template`'s input rows, as a struct of what `template` aggregates. */
    public static Column fold(Dataset template, Column rows) {
        Aggregate plan = (Aggregate) template.queryExecution().analyzed();
        Seq input = plan.child().output();
        List folds = new ArrayList();
        Iterator results = CollectionConverters.asJava(plan.aggregateExpressions()).iterator();
        while (results.hasNext()) {
            AggregateExpression one = (AggregateExpression) ((Alias) results.next()).child();
            folds.add(Fold.of(one.aggregateFunction(), input));
        }
        Folding folding = new Folding((Fold[]) folds.toArray(new Fold[0]));
        StructType type = template.schema().asNullable();
        Seq given = listOf(ExpressionUtils.expression(rows));
        Seq none = CollectionConverters.asScala(new ArrayList()).toList();
        return ExpressionUtils.column(new Invoke(
            Literal.fromObject(folding), "apply", type, given, none, true, true, true));
    }

    static Seq listOf(Object only) {
        return CollectionConverters.asScala(Collections.singletonList(only)).toList();
    }

    public InternalRow apply(ArrayData rows) {
        Object[] results = new Object[this.folds.length];
        for (int at = 0; at < results.length; at++) {
            results[at] = this.folds[at].over(rows);
        }
        return new GenericInternalRow(results);
    }

    abstract static class Fold implements Serializable {
        abstract Object over(ArrayData rows);

        static Fold of(AggregateFunction function, Seq input) {
            if (function instanceof DeclarativeAggregate) {
                return new Declared((DeclarativeAggregate) function, input);
            }
            return new Typed((TypedImperativeAggregate) function, input);
        }

    }

    /** A function that is written as expressions over its buffer and the row. */
    static final class Declared extends Fold {
        private final Seq initial;
        private final Seq update;
        private final Seq result;
        private final Seq buffer; // attributes
        private final Seq input;
        private final Seq both; // of the buffer, then of the row

        Declared(DeclarativeAggregate function, Seq input) {
            this.initial = function.initialValues();
            this.update = function.updateExpressions();
            this.result = listOf(function.evaluateExpression());
            this.buffer = function.aggBufferAttributes();
            this.input = input;
            this.both = (Seq) this.buffer.appendedAll(input);
        }

        Object over(ArrayData rows) {
            InternalRow buffer = new GenericInternalRow(new Object[this.buffer.length()]);
            new InterpretedMutableProjection(this.initial).target(buffer).apply(buffer);
            InterpretedMutableProjection update = new InterpretedMutableProjection(this.update, this.both);
            update.target(buffer);
            JoinedRow row = new JoinedRow();
            for (int at = 0; at < rows.numElements(); at++) {
                update.apply(row.apply(buffer, rows.getStruct(at, this.input.length())));
            }
            GenericInternalRow made = new GenericInternalRow(new Object[1]);
            new InterpretedMutableProjection(this.result, this.buffer).target(made).apply(buffer);
            return made.values()[0];
        }
    }

    /** A function whose buffer is an object. */
    static final class Typed extends Fold {
        private final TypedImperativeAggregate function; // over a row of its arguments
        private final Seq arguments;
        private final Seq input;

        Typed(TypedImperativeAggregate function, Seq input) {
            this.arguments = function.children();
            this.input = input;
            List bound = new ArrayList();
            Iterator children = CollectionConverters.asJava(function.children()).iterator();
            while (children.hasNext()) {
                Expression child = (Expression) children.next();
                bound.add(new BoundReference(bound.size(), child.dataType(), child.nullable()));
            }
            this.function = (TypedImperativeAggregate)
                function.withNewChildren(CollectionConverters.asScala(bound).toList());
        }

        Object over(ArrayData rows) {
            Object buffer = this.function.createAggregationBuffer();
            InternalRow given = new GenericInternalRow(new Object[this.arguments.length()]);
            InterpretedMutableProjection arguments =
                new InterpretedMutableProjection(this.arguments, this.input);
            arguments.target(given);
            for (int at = 0; at < rows.numElements(); at++) {
                arguments.apply(rows.getStruct(at, this.input.length()));
                buffer = this.function.update(buffer, given);
            }
            return this.function.eval(buffer);
        }
    }
}
