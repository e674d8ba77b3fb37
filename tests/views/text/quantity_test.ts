// Quantities have the units of the catalogue, and every digit is still there.
import assert from "node:assert/strict";
import {
  axisText,
  axisUnit,
  perWindow,
  quantityText,
  quantityWords,
  thingsOf,
} from "../../../views/text/quantity.ts";

const transfer = { name: "Data transfer", unit: "bytes" };
const time = { name: "Compute time", unit: "seconds" };
const requests = { name: "Requests", unit: null };

Deno.test("quantityText() shows bytes by thousands, with all digits next to a rounded number", () => {
  assert.deepEqual(quantityText("2410233112900", transfer), {
    number: "2.41",
    unit: "TB",
    exact: "2,410,233,112,900 bytes",
  });
  const words = [0, 1, 512, 1_000, 99_994, 318_400_000, 999_999_999, 1.5e9].map((value) =>
    quantityWords(value, transfer)
  );
  assert.deepEqual(words, [
    "0 bytes",
    "1 byte",
    "512 bytes",
    "1 KB",
    "99.99 KB",
    "318.4 MB",
    "1 GB",
    "1.5 GB",
  ]);
});

Deno.test("quantityText() shows seconds and milliseconds as minutes and hours", () => {
  assert.equal(quantityWords(59, time), "59 s");
  assert.equal(quantityWords(1_146_240, time), "318.4 h");
  assert.equal(quantityWords("90000", { name: "CPU", unit: "ms" }), "1.5 min");
});

Deno.test("quantityText() writes units of one in the singular, but no abbreviations", () => {
  const one = (unit: string) => quantityWords("1", { name: "Metric", unit });
  assert.deepEqual(["people", "requests", "GPU hours", "entries", "batches", "Addresses"].map(one), [
    "1 person",
    "1 request",
    "1 GPU hour",
    "1 entry",
    "1 batch",
    "1 Address",
  ]);
  for (const unit of ["GB", "fps", "Mbps", "status", "km/s", "analysis", "class"]) {
    assert.equal(one(unit), `1 ${unit}`);
  }
  assert.equal(quantityWords("1.5", { name: "Metric", unit: "people" }), "1.5 people");
});

Deno.test("quantityText() doesn't round other quantities", () => {
  assert.deepEqual(quantityText("9672878.000001", requests), {
    number: "9,672,878.000001",
    unit: null,
    exact: null,
  });
  assert.equal(quantityWords("1200", { name: "Storage", unit: "GB" }), "1,200 GB");
  // A small b means bits.
  assert.equal(quantityWords("1200", { name: "Storage", unit: "b" }), "1,200 b");
});

Deno.test("axisText() has the unit that fits each number", () => {
  assert.equal(axisUnit(1.3e9, transfer), 1e9);
  assert.deepEqual([0, 5e8, 1e9, 1.5e9].map((value) => axisText(value, transfer)), [
    "0",
    "500 MB",
    "1 GB",
    "1.5 GB",
  ]);
  assert.deepEqual([0, 5e5, 1e6].map((value) => axisText(value, requests)), ["0", "500k", "1M"]);
});

Deno.test("thingsOf() names one thing in the singular", () => {
  assert.deepEqual(["0", "1", "2"].map((number) => thingsOf(number, "people")), [
    "people",
    "person",
    "people",
  ]);
});

Deno.test("perWindow() names the unit in a heading", () => {
  assert.equal(perWindow(requests, "day"), "Requests per day");
});
