package browsertest

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"
)

// Of more than 256 colours the frequent ones stay as they are, and a rare one
// becomes the nearest of them.
func TestShrink(t *testing.T) {
	const size = 300
	img := image.NewRGBA(image.Rect(0, 0, size, 2))
	for x := range size {
		img.Set(x, 0, color.RGBA{uint8(x % 200), 100, 0, 255}) // 200 colours, at least once
		img.Set(x, 1, color.RGBA{0, 0, uint8(x % 100), 255})   // 100 colours, three times
	}
	var large bytes.Buffer
	if err := png.Encode(&large, img); err != nil {
		t.Fatal(err)
	}
	data, err := shrink(large.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	small, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := small.(*image.Paletted); !ok || len(p.Palette) != 256 || small.Bounds() != img.Bounds() {
		t.Fatalf("%T %v", small, small.Bounds())
	}
	for x := range size {
		if got := rgba(small, x, 1); got != img.RGBAAt(x, 1) {
			t.Errorf("at %d: %v, want %v", x, got, img.RGBAAt(x, 1))
		}
		// The rarest 44 of these are 156 to 199: the nearest that stays is 155.
		got, want := rgba(small, x, 0), img.RGBAAt(x, 0)
		want.R = min(want.R, 155)
		if got != want {
			t.Errorf("at %d: %v, want %v", x, got, want)
		}
	}
	if _, err := shrink([]byte("no picture")); err == nil {
		t.Error("a text is taken for a picture")
	}
}
