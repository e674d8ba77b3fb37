// Dimensions: usage of a metric by the values of one to three properties, such as its region.

/** Maximum number of dimensions of a metric. */
export const dimensionsMax = 3;
/** Maximum number of properties of a dimension. */
export const dimensionPropertiesMax = 3;
/** Values of a dimension that an organization has sums of in a calendar month. All further ones count as one. */
export const dimensionValuesMax = 1_000;

/** The value of a property that a record doesn't have. */
export const noneValue = "(none)";
/** The value of everything beyond {@linkcode dimensionValuesMax}. */
export const otherValue = "(other)";

/** The form of names of properties that a dimension can have, in any language. Some need joiners (U+200C and U+200D) within words. */
export const dimensionPropertyForm = /^(?!__proto__$)[\p{L}_][\p{L}\p{M}\p{N}_.\u200c\u200d-]{0,63}$/u;

/** The names of its properties, in order. */
export type DimensionNames = readonly string[];

/** Maximum number of properties of a metric whose values events may name. */
export const shareablePropertiesMax = 20;
/** Maximum number of dimensions that an error lists. */
export const dimensionsNamedMax = 20;

/** Properties that the usage page has tables of. */
export const propertiesShownMax = 3;

/** Values of a dimension that a statement's line shows apart. All further ones are shown as one sum. */
export const lineValuesShownMax = 20;
/** Lines of a statement whose dimensions one query reads, and organizations whose values one counts. */
export const statementPageLinesPerRead = 20;
/** Limit of the sums of values that closing a month reads in one step; a single organization may have more. */
export const statementStepValuesMax = 20_000;
/** Limit of the characters of values that closing a month writes in one batch; a single line may have more. */
export const statementBatchValuesSizeMax = 500_000;
