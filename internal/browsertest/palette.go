package browsertest

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
)

// shrink returns a PNG with at most 256 colours: the most frequent ones, and for
// each other colour the nearest of them. Pages have few colours beside the edges
// of letters, so the loss is not visible, and the file is much smaller.
func shrink(picture []byte) ([]byte, error) {
	img, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	size := img.Bounds()
	count := map[color.RGBA]int{}
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			count[rgba(img, x, y)]++
		}
	}
	small := image.NewPaletted(size, palette(count))
	index := make(map[color.RGBA]uint8, len(count))
	for c := range count {
		index[c] = uint8(small.Palette.Index(c))
	}
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			small.SetColorIndex(x, y, index[rgba(img, x, y)])
		}
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small)
	return out.Bytes(), err
}

func rgba(img image.Image, x, y int) color.RGBA {
	return color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
}

// palette returns the most frequent colours, in an order that does not depend on
// the map.
func palette(count map[color.RGBA]int) color.Palette {
	colours := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B), cmp.Compare(a.A, b.A))
	})
	var list color.Palette
	for _, c := range colours[:min(len(colours), 256)] {
		list = append(list, c)
	}
	return list
}
