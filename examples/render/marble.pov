#version 3.7;
global_settings { assumed_gamma 1.0 }

camera { location <0, 4, -7> look_at <0, 0.4, 0> angle 40 right x up y }
light_source { <6, 9, -6> rgb 1.2 area_light 2*x, 2*z, 3, 3 adaptive 1 }
background { rgb <0.85, 0.9, 1> }

plane { y, 0 pigment { checker rgb 0.9, rgb <0.55, 0.6, 0.7> scale 0.5 } }
torus { 2, 0.15 pigment { rgb <0.2, 0.3, 0.6> } finish { phong 0.6 reflection 0.15 } }

sphere {
  0, 0.5
  pigment { marble turbulence 0.8 color_map { [0 rgb <0.9, 0.4, 0.1>] [1 rgb 1] } }
  finish { phong 0.9 reflection 0.2 }
  rotate -720 * clock * x
  translate <0, 0.6, -2>
  rotate 360 * clock * y
}
