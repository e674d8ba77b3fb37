// Changes of objects.

/** Fields to change. Omitted fields keep their values. */
export type Changes<T> = { readonly [Name in keyof T]?: T[Name] | undefined };
