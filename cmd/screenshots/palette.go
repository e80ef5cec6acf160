package main

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"slices"
)

// compressed is the picture with its 256 most frequent colours: a page has few.
func compressed(picture []byte, height int) ([]byte, error) {
	decoded, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, fmt.Errorf("read a picture: %w", err)
	}
	area := decoded.Bounds()
	area.Max.Y = min(area.Max.Y, area.Min.Y+height)
	full := image.NewRGBA(area)
	draw.Draw(full, area, decoded, area.Min, draw.Src)
	few := image.NewPaletted(area, mostUsed(full))
	nearest := map[color.RGBA]uint8{}
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			c := full.RGBAAt(x, y)
			at, known := nearest[c]
			if !known {
				at = uint8(few.Palette.Index(c))
				nearest[c] = at
			}
			few.SetColorIndex(x, y, at)
		}
	}
	var out bytes.Buffer
	best := png.Encoder{CompressionLevel: png.BestCompression}
	if err := best.Encode(&out, few); err != nil {
		return nil, fmt.Errorf("write a picture: %w", err)
	}
	return out.Bytes(), nil
}

// mostUsed are the most frequent colours of the picture; colours that differ little count as one.
func mostUsed(picture *image.RGBA) color.Palette {
	const alike = 4
	type tone struct{ r, g, b uint8 }
	counts, first := map[tone]int{}, map[tone]color.RGBA{}
	for i := 0; i+3 < len(picture.Pix); i += 4 {
		c := color.RGBA{picture.Pix[i], picture.Pix[i+1], picture.Pix[i+2], 0xff}
		t := tone{c.R / alike, c.G / alike, c.B / alike}
		if counts[t]++; counts[t] == 1 {
			first[t] = c
		}
	}
	tones := slices.SortedFunc(maps.Keys(counts), func(a, b tone) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.r, b.r), cmp.Compare(a.g, b.g), cmp.Compare(a.b, b.b))
	})
	var palette color.Palette
	for _, t := range tones[:min(len(tones), 256)] {
		palette = append(palette, first[t])
	}
	return palette
}
