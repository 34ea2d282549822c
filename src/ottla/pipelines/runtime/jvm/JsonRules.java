package ottla;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.net.URI;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.shaded.com.google.re2j.Pattern;
import org.apache.hadoop.shaded.com.google.re2j.PatternSyntaxException;

/**
 * Whether a value fits a JSON Schema, of drafts 4 to 2020-12; and where it does not, the first reason.
 *
 * References lead to the documents that were given and to no other place; those that depend on who
 * refers are not followed. `format` and what describes contents judge nothing. Patterns are RE2's, which no text makes slow; the number of comparisons and
 * their depth have an end, so that no schema holds a task. Not one for each thread: nothing changes.
 *
 * Compiled by Janino, which knows neither type arguments nor lambdas: see compiled.py.
 */
public final class JsonRules {
    private static final int DEEPEST = 400;
    private static final int STEPS_MAX = 1000000;
    private static final String HERE = "ottla:/";
    private static final int LATEST = 2020;

    private final JsonNode root;
    private final Map bases = new IdentityHashMap(); // of every schema: the address that its references start from
    private final Map drafts = new IdentityHashMap(); // of every schema
    private final Map places = new HashMap(); // schemas by address; anchors behind a #
    private final Map patterns = new HashMap();
    private boolean tells; // whether some rule speaks of what others have not looked at

    /** `documents` by the names that references have for them. */
    public JsonRules(JsonNode root, Map documents) {
        this.root = root;
        for (Iterator every = documents.entrySet().iterator(); every.hasNext();) {
            Map.Entry one = (Map.Entry) every.next();
            this.index((JsonNode) one.getValue(), resolved(HERE, (String) one.getKey()), 7);
        }
        this.index(root, HERE, 7);
    }

    /** Why it cannot be said whether a value fits. */
    public static final class Unjudged extends Exception {
        Unjudged(String reason) {
            super(reason, null, false, false);
        }
    }

    /** Null for a value that fits, else where and why it does not. */
    public String flaw(JsonNode value) throws Unjudged {
        Judgement judgement = new Judgement(this);
        return judgement.fits(this.root, value, "", 0, this.tells ? new Seen() : null)
            ? null : judgement.flaw;
    }

    // --- addresses

    private void index(JsonNode node, String base, int draft) {
        if (node.isArray()) {
            for (int at = 0; at < node.size(); at++) {
                this.index((JsonNode) node.get(at), base, draft);
            }
            return;
        }
        if (!node.isObject()) {
            return;
        }
        JsonNode said = (JsonNode) node.get("$schema");
        int own = said != null && said.isTextual() ? draftOf(said.asText(), draft) : draft;
        JsonNode id = (JsonNode) node.get(own == 4 ? "id" : "$id");
        boolean isReference = own <= 7 && node.has("$ref"); // then nothing beside it counts
        String place = base;
        if (!isReference && id != null && id.isTextual()) {
            place = resolved(base, id.asText());
            this.places.put(bare(place), node);
        } else if (!this.places.containsKey(bare(base))) { // the document itself
            this.places.put(bare(base), node);
        }
        if (place.indexOf('#') >= 0) { // an id of drafts 4 to 7 that names a place of its document
            this.places.put(place, node);
            place = base;
        }
        this.bases.put(node, place);
        this.drafts.put(node, Integer.valueOf(own));
        this.anchor(node, "$anchor", place);
        this.anchor(node, "$dynamicAnchor", place);
        this.tells = this.tells || node.has("unevaluatedProperties") || node.has("unevaluatedItems");
        for (Iterator names = node.fieldNames(); names.hasNext();) {
            String name = (String) names.next();
            if (!name.equals("enum") && !name.equals("const")) {
                this.index((JsonNode) node.get(name), place, own);
            }
        }
    }

    private void anchor(JsonNode node, String word, String base) {
        JsonNode name = (JsonNode) node.get(word);
        if (name != null && name.isTextual()) {
            this.places.put(bare(base) + "#" + name.asText(), node);
        }
    }

    private static int draftOf(String said, int draft) {
        if (said.contains("2020-12")) {
            return LATEST;
        }
        if (said.contains("2019-09")) {
            return 2019;
        }
        return said.contains("draft-04") ? 4 : said.contains("draft-06") ? 6 : said.contains("draft-07") ? 7 : draft;
    }

    private static String resolved(String base, String reference) {
        try {
            if (reference.startsWith("#")) {
                return bare(base) + reference;
            }
            return URI.create(base).resolve(reference).toString();
        } catch (IllegalArgumentException error) {
            return reference;
        }
    }

    private static String bare(String address) {
        int at = address.indexOf('#');
        return at < 0 ? address : address.substring(0, at);
    }

    JsonNode referred(JsonNode schema, String reference) throws Unjudged {
        String base = (String) this.bases.get(schema);
        String address = resolved(base == null ? HERE : base, reference);
        int at = address.indexOf('#');
        String fragment = at < 0 ? "" : address.substring(at + 1);
        JsonNode found = (JsonNode) this.places.get(bare(address));
        if (fragment.startsWith("/")) {
            found = pointed(found, fragment);
        } else if (fragment.length() > 0) {
            found = (JsonNode) this.places.get(address);
        }
        if (found == null) {
            throw new Unjudged(reference + " leads nowhere");
        }
        return found;
    }

    private static JsonNode pointed(JsonNode from, String pointer) {
        JsonNode found = from;
        String[] steps = pointer.substring(1).split("/", -1);
        for (int at = 0; at < steps.length && found != null; at++) {
            String step = java.net.URLDecoder.decode(
                steps[at].replace("+", "%2B"), java.nio.charset.StandardCharsets.UTF_8)
                .replace("~1", "/").replace("~0", "~");
            found = found.isArray() && step.length() < 9 && step.matches("[0-9]+")
                ? (JsonNode) found.get(Integer.parseInt(step)) : (JsonNode) found.get(step);
        }
        return found;
    }

    int draft(JsonNode schema) {
        Integer draft = (Integer) this.drafts.get(schema);
        return draft == null ? 7 : draft.intValue();
    }

    boolean finds(String pattern, String text) throws Unjudged {
        Pattern known;
        synchronized (this.patterns) {
            known = (Pattern) this.patterns.get(pattern);
            if (known == null) {
                try {
                    known = Pattern.compile(pattern);
                } catch (PatternSyntaxException error) {
                    throw new Unjudged("RE2 has no pattern " + pattern);
                }
                this.patterns.put(pattern, known);
            }
        }
        return known.matcher(text).find();
    }

    // --- one value

    /** What rules have looked at, of an object or an array. */
    static final class Seen {
        final Set names = new HashSet(); // of properties; numbers of items
        boolean every;

        void add(Seen other) {
            this.names.addAll(other.names);
            this.every = this.every || other.every;
        }
    }

    static final class Judgement {
        private final JsonRules rules;
        private int steps;
        String flaw;

        Judgement(JsonRules rules) {
            this.rules = rules;
        }

        private boolean not(String place, String why) {
            this.flaw = (place.length() == 0 ? "" : place + " ") + why;
            return false;
        }

        boolean fits(JsonNode schema, JsonNode value, String place, int depth, Seen seen) throws Unjudged {
            if (depth > DEEPEST || ++this.steps > STEPS_MAX) {
                throw new Unjudged("it takes too long");
            }
            if (schema.isBoolean()) {
                return schema.asBoolean() || this.not(place, "is not allowed");
            }
            if (!schema.isObject()) {
                return true;
            }
            int draft = this.rules.draft(schema);
            JsonNode reference = (JsonNode) schema.get("$ref");
            if (reference != null && reference.isTextual()) {
                JsonNode found = this.rules.referred(schema, reference.asText());
                boolean fits = this.part(found, value, place, depth, seen);
                if (draft <= 7 || !fits) {
                    return fits;
                }
            }
            if (draft >= 2019 && (schema.has("$dynamicRef") || schema.has("$recursiveRef"))) {
                throw new Unjudged("references that depend on who refers to them are not followed");
            }
            return this.simple(schema, draft, value, place)
                && this.combined(schema, draft, value, place, depth, seen)
                && (!value.isObject() || this.object(schema, draft, value, place, depth, seen))
                && (!value.isArray() || this.array(schema, draft, value, place, depth, seen));
        }

        /** What a part has looked at counts only where it fits. */
        private boolean part(JsonNode schema, JsonNode value, String place, int depth, Seen seen) throws Unjudged {
            Seen own = this.rules.tells ? new Seen() : null;
            boolean fits = this.fits(schema, value, place, depth + 1, own);
            if (fits && seen != null) {
                seen.add(own);
            }
            return fits;
        }

        // --- rules of a value by itself

        private boolean simple(JsonNode schema, int draft, JsonNode value, String place) throws Unjudged {
            JsonNode type = (JsonNode) schema.get("type");
            if (type != null && !isOf(type, value, draft)) {
                return this.not(place, "is no " + (type.isTextual() ? type.asText() : type.toString()));
            }
            JsonNode listed = (JsonNode) schema.get("enum");
            if (listed != null && listed.isArray() && !has(listed, value)) {
                return this.not(place, "is none of " + listed);
            }
            JsonNode fixed = (JsonNode) schema.get("const");
            if (fixed != null && draft >= 6 && !same(fixed, value)) {
                return this.not(place, "is not " + fixed);
            }
            if (value.isNumber()) {
                return this.number(schema, draft, value.decimalValue(), place);
            }
            return !value.isTextual() || this.text(schema, value.asText(), place);
        }

        private static boolean isOf(JsonNode type, JsonNode value, int draft) {
            if (type.isArray()) {
                for (int at = 0; at < type.size(); at++) {
                    if (isOf((JsonNode) type.get(at), value, draft)) {
                        return true;
                    }
                }
                return false;
            }
            String name = type.asText();
            switch (name) {
                case "null": return value.isNull();
                case "boolean": return value.isBoolean();
                case "string": return value.isTextual();
                case "object": return value.isObject();
                case "array": return value.isArray();
                case "number": return value.isNumber();
                case "integer": return value.isNumber() && (value.isIntegralNumber()
                    || (draft > 4 && isWhole(value.decimalValue())));
                default: return true;
            }
        }

        private static boolean isWhole(BigDecimal number) {
            return number.signum() == 0 || number.stripTrailingZeros().scale() <= 0;
        }

        private boolean number(JsonNode schema, int draft, BigDecimal value, String place) {
            BigDecimal most = limit(schema, "maximum");
            BigDecimal least = limit(schema, "minimum");
            boolean below = draft == 4 && isTrue(schema, "exclusiveMaximum");
            boolean above = draft == 4 && isTrue(schema, "exclusiveMinimum");
            if (most != null && (value.compareTo(most) > 0 || below && value.compareTo(most) == 0)) {
                return this.not(place, "is more than " + most);
            }
            if (least != null && (value.compareTo(least) < 0 || above && value.compareTo(least) == 0)) {
                return this.not(place, "is less than " + least);
            }
            BigDecimal under = limit(schema, "exclusiveMaximum");
            BigDecimal over = limit(schema, "exclusiveMinimum");
            if (under != null && value.compareTo(under) >= 0) {
                return this.not(place, "is not less than " + under);
            }
            if (over != null && value.compareTo(over) <= 0) {
                return this.not(place, "is not more than " + over);
            }
            BigDecimal step = limit(schema, "multipleOf");
            // With exponents like these a remainder has millions of digits.
            boolean isFar = Math.abs((long) value.scale()) > 1000;
            if (step != null && step.signum() > 0 && !isFar && value.remainder(step).signum() != 0) {
                return this.not(place, "is no multiple of " + step);
            }
            return true;
        }

        private static BigDecimal limit(JsonNode schema, String name) {
            JsonNode said = (JsonNode) schema.get(name);
            return said == null || !said.isNumber() ? null : said.decimalValue();
        }

        private static boolean isTrue(JsonNode schema, String name) {
            JsonNode said = (JsonNode) schema.get(name);
            return said != null && said.isBoolean() && said.asBoolean();
        }

        private static int count(JsonNode schema, String name, int otherwise) {
            BigDecimal said = limit(schema, name);
            if (said == null) {
                return otherwise;
            }
            return said.compareTo(BigDecimal.valueOf(Integer.MAX_VALUE)) > 0 ? Integer.MAX_VALUE : said.intValue();
        }

        private boolean within(JsonNode schema, int size, String least, String most, String what, String place) {
            if (size < count(schema, least, 0)) {
                return this.not(place, "has fewer than " + count(schema, least, 0) + " " + what);
            }
            return size <= count(schema, most, Integer.MAX_VALUE)
                || this.not(place, "has more than " + count(schema, most, 0) + " " + what);
        }

        private boolean text(JsonNode schema, String value, String place) throws Unjudged {
            int length = value.codePointCount(0, value.length());
            if (!this.within(schema, length, "minLength", "maxLength", "characters", place)) {
                return false;
            }
            JsonNode pattern = (JsonNode) schema.get("pattern");
            return pattern == null || this.rules.finds(pattern.asText(), value)
                || this.not(place, "does not match " + pattern.asText());
        }

        // --- rules over rules

        private boolean combined(JsonNode schema, int draft, JsonNode value, String place, int depth, Seen seen)
                throws Unjudged {
            JsonNode all = (JsonNode) schema.get("allOf");
            for (int at = 0; all != null && at < all.size(); at++) {
                if (!this.part((JsonNode) all.get(at), value, place, depth, seen)) {
                    return false;
                }
            }
            JsonNode any = (JsonNode) schema.get("anyOf");
            if (any != null && this.fitting(any, value, place, depth, seen) == 0) {
                return this.not(place, "fits none of anyOf");
            }
            JsonNode one = (JsonNode) schema.get("oneOf");
            int fitting = one == null ? 1 : this.fitting(one, value, place, depth, seen);
            if (fitting != 1) {
                return this.not(place, fitting == 0 ? "fits none of oneOf" : "fits several of oneOf");
            }
            JsonNode other = (JsonNode) schema.get("not");
            if (other != null && this.part(other, value, place, depth, null)) {
                return this.not(place, "fits what it must not");
            }
            JsonNode asked = (JsonNode) schema.get("if");
            if (asked != null && draft >= 7) {
                String chosen = this.part(asked, value, place, depth, seen) ? "then" : "else";
                JsonNode then = (JsonNode) schema.get(chosen);
                return then == null || this.part(then, value, place, depth, seen);
            }
            return true;
        }

        private int fitting(JsonNode choices, JsonNode value, String place, int depth, Seen seen) throws Unjudged {
            int found = 0;
            for (int at = 0; at < choices.size(); at++) {
                found += this.part((JsonNode) choices.get(at), value, place, depth, seen) ? 1 : 0;
            }
            return found;
        }

        // --- objects

        private boolean object(JsonNode schema, int draft, JsonNode value, String place, int depth, Seen seen)
                throws Unjudged {
            JsonNode required = (JsonNode) schema.get("required");
            if (required != null && required.isArray() && !this.names(required, value, place)) {
                return false;
            }
            if (!this.within(schema, value.size(), "minProperties", "maxProperties", "properties", place)) {
                return false;
            }
            JsonNode naming = draft >= 6 ? (JsonNode) schema.get("propertyNames") : null;
            for (Iterator names = value.fieldNames(); names.hasNext();) {
                String name = (String) names.next();
                if (naming != null && !this.fits(naming,
                        com.fasterxml.jackson.databind.node.TextNode.valueOf(name), place, depth + 1, null)) {
                    return this.not(place, "has a property of the name " + name);
                }
                if (!this.property(schema, name, (JsonNode) value.get(name), place, depth, seen)) {
                    return false;
                }
            }
            return this.depends(schema, draft, value, place, depth, seen)
                && this.leftNames(schema, draft, value, place, depth, seen);
        }

        private boolean names(JsonNode required, JsonNode value, String place) {
            for (int at = 0; at < required.size(); at++) {
                String name = ((JsonNode) required.get(at)).asText();
                if (!value.has(name)) {
                    return this.not(place, "lacks " + name);
                }
            }
            return true;
        }

        private boolean property(JsonNode schema, String name, JsonNode value, String place, int depth, Seen seen)
                throws Unjudged {
            String inside = place + "/" + name;
            boolean known = false;
            JsonNode named = (JsonNode) schema.get("properties");
            if (named != null && named.has(name)) {
                known = true;
                if (!this.inner((JsonNode) named.get(name), value, inside, depth)) {
                    return false;
                }
            }
            JsonNode matched = (JsonNode) schema.get("patternProperties");
            if (matched != null) {
                for (Iterator patterns = matched.fieldNames(); patterns.hasNext();) {
                    String pattern = (String) patterns.next();
                    if (this.rules.finds(pattern, name)) {
                        known = true;
                        if (!this.inner((JsonNode) matched.get(pattern), value, inside, depth)) {
                            return false;
                        }
                    }
                }
            }
            JsonNode rest = (JsonNode) schema.get("additionalProperties");
            if (!known && rest != null) {
                known = true;
                if (!this.inner(rest, value, inside, depth)) {
                    return false;
                }
            }
            if (known && seen != null) {
                seen.names.add(name);
            }
            return true;
        }

        /** A value within the value: what is looked at there is another's. */
        private boolean inner(JsonNode schema, JsonNode value, String place, int depth) throws Unjudged {
            return this.fits(schema, value, place, depth + 1, this.rules.tells ? new Seen() : null);
        }

        private boolean depends(JsonNode schema, int draft, JsonNode value, String place, int depth, Seen seen)
                throws Unjudged {
            String[] words = {"dependencies", "dependentRequired", "dependentSchemas"};
            for (int word = 0; word < (draft >= 2019 ? 3 : 1); word++) {
                JsonNode said = (JsonNode) schema.get(words[word]);
                if (said == null) {
                    continue;
                }
                for (Iterator names = said.fieldNames(); names.hasNext();) {
                    String name = (String) names.next();
                    JsonNode wanted = (JsonNode) said.get(name);
                    boolean holds = !value.has(name) || (wanted.isArray()
                        ? this.names(wanted, value, place) : this.part(wanted, value, place, depth, seen));
                    if (!holds) {
                        return false;
                    }
                }
            }
            return true;
        }

        private boolean leftNames(JsonNode schema, int draft, JsonNode value, String place, int depth, Seen seen)
                throws Unjudged {
            JsonNode rest = draft >= 2019 ? (JsonNode) schema.get("unevaluatedProperties") : null;
            if (rest == null) {
                return true;
            }
            for (Iterator names = value.fieldNames(); names.hasNext();) {
                String name = (String) names.next();
                if (!seen.every && !seen.names.contains(name)
                    && !this.inner(rest, (JsonNode) value.get(name), place + "/" + name, depth)) {
                    return false;
                }
            }
            seen.every = true;
            return true;
        }

        // --- arrays

        private boolean array(JsonNode schema, int draft, JsonNode value, String place, int depth, Seen seen)
                throws Unjudged {
            if (!this.within(schema, value.size(), "minItems", "maxItems", "items", place)) {
                return false;
            }
            if (isTrue(schema, "uniqueItems") && !this.unique(value)) {
                return this.not(place, "has an item twice");
            }
            JsonNode items = (JsonNode) schema.get("items");
            boolean isOld = draft < LATEST && items != null && items.isArray();
            JsonNode first = isOld ? items : draft >= LATEST ? (JsonNode) schema.get("prefixItems") : null;
            JsonNode rest = isOld ? (JsonNode) schema.get("additionalItems") : items;
            int listed = first == null ? 0 : first.size();
            for (int at = 0; at < value.size(); at++) {
                JsonNode rule = at < listed ? (JsonNode) first.get(at) : rest;
                if (rule == null) {
                    continue;
                }
                if (!this.inner(rule, (JsonNode) value.get(at), place + "/" + at, depth)) {
                    return false;
                }
                if (seen != null) {
                    seen.names.add(Integer.valueOf(at));
                }
            }
            return this.contains(schema, draft, value, place, depth, seen)
                && this.leftItems(schema, draft, value, place, depth, seen);
        }

        private boolean contains(JsonNode schema, int draft, JsonNode value, String place, int depth, Seen seen)
                throws Unjudged {
            JsonNode wanted = draft >= 6 ? (JsonNode) schema.get("contains") : null;
            if (wanted == null) {
                return true;
            }
            int found = 0;
            for (int at = 0; at < value.size(); at++) {
                if (this.inner(wanted, (JsonNode) value.get(at), place + "/" + at, depth)) {
                    found++;
                    if (seen != null && draft >= LATEST) {
                        seen.names.add(Integer.valueOf(at));
                    }
                }
            }
            int least = draft >= 2019 ? count(schema, "minContains", 1) : 1;
            int most = draft >= 2019 ? count(schema, "maxContains", Integer.MAX_VALUE) : Integer.MAX_VALUE;
            return found >= least && found <= most
                || this.not(place, "contains " + found + " of what it must contain");
        }

        private boolean leftItems(JsonNode schema, int draft, JsonNode value, String place, int depth, Seen seen)
                throws Unjudged {
            JsonNode rest = draft >= 2019 ? (JsonNode) schema.get("unevaluatedItems") : null;
            if (rest == null) {
                return true;
            }
            for (int at = 0; at < value.size(); at++) {
                if (!seen.every && !seen.names.contains(Integer.valueOf(at))
                    && !this.inner(rest, (JsonNode) value.get(at), place + "/" + at, depth)) {
                    return false;
                }
            }
            seen.every = true;
            return true;
        }

        // --- sameness: 1 and 1.0 are one number

        private boolean unique(JsonNode values) throws Unjudged {
            for (int at = 1; at < values.size(); at++) {
                for (int before = 0; before < at; before++) {
                    if (++this.steps > STEPS_MAX) {
                        throw new Unjudged("it takes too long");
                    }
                    if (same((JsonNode) values.get(before), (JsonNode) values.get(at))) {
                        return false;
                    }
                }
            }
            return true;
        }

        private static boolean has(JsonNode values, JsonNode value) {
            for (int at = 0; at < values.size(); at++) {
                if (same((JsonNode) values.get(at), value)) {
                    return true;
                }
            }
            return false;
        }

        private static boolean same(JsonNode one, JsonNode other) {
            if (one.isNumber() && other.isNumber()) {
                return one.decimalValue().compareTo(other.decimalValue()) == 0;
            }
            if (one.size() != other.size() || one.getNodeType() != other.getNodeType()) {
                return false;
            }
            if (one.isArray()) {
                for (int at = 0; at < one.size(); at++) {
                    if (!same((JsonNode) one.get(at), (JsonNode) other.get(at))) {
                        return false;
                    }
                }
                return true;
            }
            if (one.isObject()) {
                for (Iterator names = one.fieldNames(); names.hasNext();) {
                    String name = (String) names.next();
                    if (!other.has(name) || !same((JsonNode) one.get(name), (JsonNode) other.get(name))) {
                        return false;
                    }
                }
                return true;
            }
            return one.equals(other);
        }
    }
}
