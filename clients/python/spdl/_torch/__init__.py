"""What a torch user has, told as a description: transforms of torchvision, timm and albumentations, data sets of files, DataLoader's arguments.

Nothing here imports torch, torchvision, timm or albumentations: objects are known by the names of their classes and asked for their attributes.
"""
